"""Machine translation: predict the target sentence from the source sentence."""

import numpy as np
from pydantic import Field

from bottomup import objectives
from bottomup.corpus.specials import PAD
from bottomup.objectives import IGNORE, Example


class Objective(objectives.Objective):
    """Encoder and decoder; the encoder sees the whole source sentence."""

    predicts = "target"

    label_smoothing: float = Field(
        0.1, ge=0, lt=1, description="probability spread over the other tokens of the vocabulary"
    )

    def example(self, source, target, vocab_size, rng) -> Example:
        return Example(source, target, np.where(target == PAD, IGNORE, target))
