"""Which code knows the heads of a subject: that for runs or that for checkpoints.

`runs` and `checkpoints` have the same modules: `predictor`, all that importance, judging and
pruning ask of a model; `importances`, what is read from its attention; and `judging`, how its
quality is measured. They are chosen by name, so that a rule counts the code of one alone.
"""

import importlib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from bottomup.core.settings import Pruned, Scoring, Section, Trained
from bottomup.measures.token_dropout import without_dropout

if TYPE_CHECKING:
    from bottomup.heads.predictor import Predictor
    from bottomup.subjects import Subject


class Beam(Section):
    """How a run translates."""

    beam_size: int
    length_penalty: float


class Examination(Section):
    """What the importance of heads depends on: the run; how many sentences of the dev split; the
    seed of these and of masks; how it translates, if it does."""

    run: Trained
    sentences: int
    seed: int
    beam: Beam | None


class Judging(Section):
    """A model, whose heads may have gone, and how its quality is measured."""

    run: Trained
    pruned: Pruned
    scoring: Scoring


def load(run: Trained, module: str) -> ModuleType:
    """The module of that name for the kind of a run."""
    kind = "checkpoints" if run.module is None else "runs"
    return importlib.import_module(f"bottomup.heads.{kind}.{module}")


def measured(run: Trained, subject: "Subject", folder: Path) -> "Predictor":
    """As `opened`, with the objective as models are measured: without token dropout."""
    predictor = opened(run, subject, folder)
    predictor.objective = without_dropout(predictor.objective)
    return predictor


def opened(run: Trained, subject: "Subject", folder: Path) -> "Predictor":
    """The model of a run or a checkpoint with its objective; folder: that it was loaded from."""
    return load(run, "predictor").opened(run, subject, folder)
