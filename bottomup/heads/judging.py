"""How good a model with fewer heads is: what is asked, and what is found.

`ours.judging` and `own.judging` find it, for runs and for checkpoints.
"""

from dataclasses import dataclass, field
from pathlib import Path

from bottomup.measures.quality import Score
from bottomup.settings import Pruned, Scoring, Section, Trained


class Settings(Section):
    """The model, whose heads may have gone, and how quality is measured."""

    run: Trained
    pruned: Pruned
    scoring: Scoring


@dataclass(frozen=True)
class Held:
    """What a model with fewer heads is judged by: files, as the program's arguments name them."""

    model: Path
    text: list[Path]
    blocks: Path
    metrics: Path | None = None
    gates: Path | None = None
    quality: list[Path] = field(default_factory=list)
    translation: list[Path] = field(default_factory=list)
    smaller: Path | None = None


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
