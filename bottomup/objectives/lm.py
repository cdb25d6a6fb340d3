"""Language modeling: predict the next token of the source side from those before it."""

import numpy as np

from bottomup import objectives
from bottomup.corpus.specials import PAD
from bottomup.objectives import IGNORE, Example


class Objective(objectives.Objective):
    """Left-to-right language model; no start token is fed, so the first token is not predicted.

    As under the other objectives, </s> is read like any token, but nothing follows it.
    """

    causal = True

    def example(self, source, target, vocab_size, rng) -> Example:
        following = np.full_like(source, PAD)
        following[:, :-1] = source[:, 1:]
        return Example(source, None, np.where(following == PAD, IGNORE, following))
