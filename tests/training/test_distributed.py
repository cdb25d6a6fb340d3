"""A run that two processes train is that of one."""

import json
import os
import signal
import sys
from argparse import Namespace
from contextlib import nullcontext, suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from bottomup.core.errors import UserError
from bottomup.heads.pruning import Pruner
from bottomup.heads.runs.predictor import RunPredictor
from bottomup.objectives import IGNORE, Example
from bottomup.training import distributed, stopping
from bottomup.training.checkpoint import Finished
from tests.tiny import same_bytes
from tests.training.conftest import made
from tests.training.test_loop import changed, weights_that_matter
from tests.training.test_run import command_of, settings_of, stopped_by

pytestmark = pytest.mark.long

# With updates of one or two sentences, of which one process then has none.
SHORT = changed(batch_tokens=9, max_tokens=40, evaluate_every_steps=4)
RUNS = {"lm": {}, "mlm": {"accumulate": 2}, "short": {"settings": SHORT}, "gates": {}}
GATES = {"penalty": 0.1, "learning_rate": 0.05, "initial_log_alpha": 2.0}


def run_of(parent: Path, name: str):
    """A run that ends with its last weights, whichever are best by a hair."""
    objective = {"short": "mt", "gates": "mt"}.get(name, name)
    run = made(parent, objective, name, **{"settings": changed(max_tokens=300)} | RUNS[name])
    if name == "gates":
        predictor = RunPredictor(run.model, run.objective)
        arguments = (run.model, run.text, run.dev, run.settings, 1, run.checkpoint)
        return Pruner(predictor, *arguments, kinds=("encoder", "decoder", "cross"), **GATES)
    run.improves = lambda dev_loss, progress: True
    return run


def in_two(arguments: Namespace) -> None:
    """What each of two processes does."""
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    with distributed.joined():
        assert (distributed.rank(), distributed.size()) == (rank, 2)
        assert distributed.largest(rank + 5) == 6
        for name in RUNS:
            run = run_of(arguments.folder, name)
            with suppress(SystemExit):
                (arguments.folder / f"{name}.json").write_text(json.dumps(run.train().metrics))
                assert rank == 0
            weights = {name: w.detach() for name, w in run.model.state_dict().items()}
            save_file(weights, arguments.folder / f"{name}.{rank}.safetensors")
        for folder in ("trained", "taken"):
            run = run_of(arguments.folder / folder, "lm")
            run.finished = Finished(arguments.folder / "kept", {})
            run.update = run.update if folder == "trained" else None
            with suppress(SystemExit):
                run.train()


def until_a_signal(arguments: Namespace) -> None:
    """What each of one or two processes does, the last of which hears a signal at a step."""
    torch.set_num_threads(1)
    run = run_of(arguments.folder / "resumed", "mlm")
    update = run.update

    def hearing(sentences, step):
        if step == arguments.stop and distributed.rank() == distributed.size() - 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return update(sentences, step)

    run.update = hearing
    # Once in a process: a second group of gloo's may wait for ever.
    meeting = distributed.joined() if arguments.gpus > 1 else nullcontext()
    with meeting, stopping.listening():
        metrics = run.train().metrics
    (arguments.folder / "resumed.json").write_text(json.dumps(metrics))


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """The folder to which two processes have written."""
    folder = tmp_path_factory.mktemp("two")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stopping, "SIGNALS", ())
        patch.setenv("BOTTOMUP_DEVICE", "cpu")
        distributed.launch(in_two, Namespace(gpus=2, folder=folder))
    return folder


@pytest.fixture
def resumed(tmp_path, monkeypatch):
    """What was measured of a run that two processes began, one went on with, and two ended."""
    monkeypatch.setattr(stopping, "SIGNALS", ())
    monkeypatch.setenv("BOTTOMUP_DEVICE", "cpu")
    for gpus, stop in ((2, 2), (1, 4)):
        with pytest.raises(SystemExit, match=str(os.EX_TEMPFAIL)):
            arguments = Namespace(gpus=gpus, folder=tmp_path, stop=stop)
            distributed.launch(until_a_signal, arguments)
        state = run_of(tmp_path / "resumed", "mlm").checkpoint.state()
        assert state["progress"]["step"] == stop
    distributed.launch(until_a_signal, Namespace(gpus=2, folder=tmp_path, stop=None))
    return json.loads((tmp_path / "resumed.json").read_text())


@pytest.mark.parametrize("name", RUNS)
def test_two_processes_train_the_run_of_one(two, tmp_path, name):
    """But for rounding; and both of them to the same bits."""
    run = run_of(tmp_path, name)
    metrics = run.train().metrics
    for line, expected in zip(json.loads((two / f"{name}.json").read_text()), metrics, strict=True):
        line.pop("gates", None), expected.pop("gates", None)
        assert line == pytest.approx(expected, rel=1e-4)
    first, second = (load_file(two / f"{name}.{rank}.safetensors") for rank in (0, 1))
    second = {name: weight for name, weight in second.items() if name in first}
    assert same_bytes(first, second) and "head.weight" in first
    expected = weights_that_matter(run.model)
    run.model.load_state_dict(first)
    torch.testing.assert_close(weights_that_matter(run.model), expected, rtol=1e-3, atol=1e-4)


def test_on_two_then_one_then_two_is_the_run_of_one(resumed, tmp_path):
    metrics = run_of(tmp_path, "mlm").train().metrics
    for line, expected in zip(resumed, metrics, strict=True):
        assert line == pytest.approx(expected, rel=1e-4)


def test_one_process_shares_nothing():
    example = Example(np.array([[5, 1], [6, 1]]), None, np.array([[1, IGNORE], [1, IGNORE]]))
    assert (distributed.rank(), distributed.size()) == (0, 1)
    assert np.array_equal(distributed.share(example).labels, example.labels)
    assert distributed.largest(3) == 3


def test_the_program_in_two_processes_is_stopped_as_one(corpus_files, tmp_path):
    """The signal reaches the one that has started the others; all leave as one would."""
    settings = settings_of("mlm", max_tokens=10_000, patience=1000)
    settings["model"] |= {"dropout": 0.0, "attention_dropout": 0.0}
    command = [sys.executable, *command_of(settings, corpus_files, tmp_path / "stopped")]
    stopped_by(signal.SIGTERM, [*command, "--gpus", "2"], tmp_path / "stopped")


def test_what_another_launcher_left_is_one_line(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "1")
    told = "found WORLD_SIZE without RANK, LOCAL_RANK, .*; allowed: .* or none: unset WORLD_SIZE"
    with pytest.raises(UserError, match=told):
        distributed.in_processes(lambda arguments: None)(Namespace(gpus=1))


def test_more_processes_than_gpus_are_one_line(monkeypatch):
    monkeypatch.setattr(distributed, "device", lambda: torch.device("cuda"))
    monkeypatch.setattr(distributed, "gpus", lambda: 2)
    monkeypatch.setenv("LOCAL_RANK", "2")
    named = "its 2 GPUs; give --nproc-per-node 2"
    with pytest.raises(UserError, match=named), distributed.joined():
        pass
