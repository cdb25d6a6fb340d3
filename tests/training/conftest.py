from functools import partial
from pathlib import Path

import pytest

from bottomup import objectives
from bottomup.training.checkpoint import Checkpoint
from bottomup.training.loop import Trainer
from tests.tiny import VOCAB, initial, random_text
from tests.training.test_loop import SETTINGS


def made(
    parent: Path,
    objective="lm",
    folder="run",
    settings=SETTINGS,
    accumulate=1,
    options=None,
    **shape,
) -> Trainer:
    """A trainer of a tiny model; two with the same `folder` share a checkpoint."""
    translated = objectives.kind(objective).predicts in ("target", "both")
    loaded = objectives.load(objective, options or {})
    loaded.learn_types([chr(ord("a") + number) for number in range(VOCAB)])
    return Trainer(
        initial(objective, **shape),
        loaded,
        random_text(60, 0, translated),
        random_text(20, 1, translated),
        settings,
        seed=1,
        checkpoint=Checkpoint(parent / folder, {"run": "tiny"}),
        accumulate=accumulate,
    )


@pytest.fixture
def trainer(tmp_path):
    """Make a trainer as `made` does."""
    return partial(made, tmp_path)
