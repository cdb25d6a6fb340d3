import numpy as np
import pytest
from pydantic import ValidationError

from bottomup import objectives
from bottomup.objectives import IGNORE, Example
from bottomup.workflow.config import modules

SOURCE = np.arange(12).reshape(4, 3)
TARGET = np.arange(8).reshape(4, 2)


def test_each_has_a_file_and_loads():
    names = modules("objectives")
    assert {"lm", "mlm", "mt", "untrained"} <= set(names)
    for name in names:
        assert isinstance(objectives.load(name, {}), objectives.Objective)


def test_only_lm_is_causal_and_only_mt_reads_the_target():
    loaded = {name: objectives.load(name, {}) for name in ("lm", "mlm", "mt", "untrained")}
    assert [name for name, objective in loaded.items() if objective.causal] == ["lm"]
    predicts = {name: objective.predicts for name, objective in loaded.items()}
    assert predicts == {"lm": "source", "mlm": "source", "mt": "target", "untrained": None}


def test_only_mt_smooths_by_default():
    smoothing = {name: objectives.load(name, {}).label_smoothing for name in ("lm", "mlm", "mt")}
    assert smoothing == {"lm": 0.0, "mlm": 0.0, "mt": 0.1}


@pytest.mark.parametrize("options", [{"chose": 0.2}, {"choose": 0}, {"mask": 1.1}, {"mask": "x"}])
def test_wrong_options(options):
    with pytest.raises(ValidationError):
        objectives.load("mlm", options)


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("target", [TARGET, None])
def test_split_loses_nothing_and_keeps_the_order(parts, target):
    labels = SOURCE if target is None else target
    pieces = list(Example(SOURCE, target, labels).split(parts))
    assert len(pieces) == min(parts, 4)
    assert all(len(piece.source) for piece in pieces)
    assert np.array_equal(np.concatenate([piece.source for piece in pieces]), SOURCE)
    assert np.array_equal(np.concatenate([piece.labels for piece in pieces]), labels)
    if target is None:
        assert all(piece.target is None for piece in pieces)
    else:
        assert np.array_equal(np.concatenate([piece.target for piece in pieces]), target)


def test_ignored_labels_are_no_token():
    assert IGNORE < 0
