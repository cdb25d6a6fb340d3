"""How good a model with fewer heads is.

`ours.judging` and `own.judging` find it, for runs and for checkpoints.
"""

from dataclasses import dataclass

from bottomup.measures.quality import Score


@dataclass(frozen=True)
class Judged:
    """A model with fewer heads: how many it has by kind of attention, the number of layers that
    shared the penalty, and how good it is; None for what is not known of it."""

    heads: dict[str, int]
    gated_layers: int
    quality: Score
    probability: Score
    test_loss: float
    dev_loss: float | None = None
    bleu: float | None = None
    chrf: float | None = None
    accuracy: float | None = None
    parameters: int | None = None
    megabytes: float | None = None
