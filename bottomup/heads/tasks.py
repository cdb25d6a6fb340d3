"""What a subject was trained for, as far as its heads are judged and pruned by it.

`ours` is for runs, by a module of bottomup/objectives on token files; `own` for checkpoints, by
what their folder says, on text in their own tokens. Both have the same modules, with the same
functions: `importances`, `pruning` and `judging`. They are chosen by name, so that a rule counts
the code of one alone; programs write a table from what either returns.
"""

import importlib
from types import ModuleType

from bottomup.core.settings import Pruned, Scoring, Section, Trained


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
    return importlib.import_module(f"bottomup.heads.{run.task}.{module}")
