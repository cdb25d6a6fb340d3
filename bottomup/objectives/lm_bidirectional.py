"""Predicting the next token, like LM, with a model that sees both sides, like MLM."""

import numpy as np

from bottomup.corpus.specials import PAD
from bottomup.objectives import IGNORE, Example, Question, Variant, mlm


class Objective(mlm.Objective):
    """LM's targets with MLM's mask, to separate what the two do to a representation.

    Tokens are hidden as in MLM, and each is predicted at the position before it, where LM predicts
    it. As in MLM, a chosen token that is read as itself is also predicted.
    """

    accuracy = "accuracy"
    variant = Variant("lm", Question.MASK)

    def predicts_of(self, source, target) -> float:
        return float(self.choose * (source - 2).clip(0).sum())  # neither </s> nor the first

    def example(self, source, target, vocab_size, rng) -> Example:
        chosen = self.chosen(source, rng)
        chosen[:, 0] = False  # nothing precedes it
        read = self.corrupt(source, chosen, vocab_size, rng)
        following = np.full_like(source, PAD)
        following[:, :-1] = np.where(chosen, source, PAD)[:, 1:]
        return Example(read, None, np.where(following == PAD, IGNORE, following))
