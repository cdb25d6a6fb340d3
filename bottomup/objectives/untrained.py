"""No training: the initial model of a seed, with the encoder that MLM and MT start from."""

import numpy as np

from bottomup import objectives
from bottomup.objectives import IGNORE, Example


class Objective(objectives.Objective):
    """Predicts nothing; the control that has seen no text."""

    predicts = None

    def example(self, source, target, vocab_size, rng) -> Example:
        return Example(source, None, np.full_like(source, IGNORE))
