"""Language modeling from the end: predict each token of the source side from those after it."""

import numpy as np

from bottomup.corpus.specials import PAD
from bottomup.objectives import IGNORE, Example, lm


class Objective(lm.Objective):
    """LM on reversed text (Peters et al. 2018): the mirror image of LM.

    Nothing is reversed: the mask is turned around, and positions count from the end, so each state
    stands at its token. </s> is read first, and predicts the last token; nothing predicts it.
    """

    backward = True

    def example(self, source, target, vocab_size, rng) -> Example:
        return Example(source, None, labels(source))


def labels(source: np.ndarray) -> np.ndarray:
    """At each token the one before it, at the first one and padding IGNORE, `[batch, length]`."""
    before = np.full_like(source, IGNORE)
    before[:, 1:] = np.where(source[:, 1:] == PAD, IGNORE, source[:, :-1])
    return before
