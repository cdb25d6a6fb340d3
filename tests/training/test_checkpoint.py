import json

import pytest
import torch
from safetensors.torch import load_file

from bottomup.errors import UserError
from bottomup.training import checkpoint as checkpoints
from bottomup.training.checkpoint import Checkpoint, Progress
from tests.tiny import files_limited_to, initial, same_bytes


def trained(steps: int = 2):
    """A model and its optimizer after some updates."""
    model = initial("lm")
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.998), eps=1e-9, fused=True)
    for _ in range(steps):
        update(model, optimizer)
    return model, optimizer


def update(model, optimizer):
    model.head(model(torch.tensor([[4, 5, 6]]))).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()


@pytest.fixture
def checkpoint(tmp_path):
    return Checkpoint(tmp_path / "checkpoint", {"run": "this"})


def names(checkpoint):
    return {path.name for path in checkpoint.folder.iterdir()}


def test_nothing_to_load(checkpoint):
    model, optimizer = initial("lm"), trained()[1]
    assert checkpoint.load(model, optimizer) == Progress()
    assert same_bytes(model.state_dict(), initial("lm").state_dict())


def test_everything_comes_back(checkpoint):
    model, optimizer = trained()
    progress = Progress(2, 70, 0.1 + 0.2, 1, [{"step": 2, "dev_loss_nats": 1 / 3}])
    checkpoint.save(model, optimizer, progress, best=True)
    other, other_optimizer = trained(steps=0)
    assert checkpoint.load(other, other_optimizer) == progress
    assert same_bytes(model.state_dict(), other.state_dict())
    update(model, optimizer)
    update(other, other_optimizer)
    assert same_bytes(model.state_dict(), other.state_dict())


def test_only_the_newest_and_the_best_are_kept(checkpoint):
    model, optimizer = trained()
    checkpoint.save(model, optimizer, Progress(step=2), best=True)
    best = {name: weight.clone() for name, weight in model.state_dict().items()}
    for step in (4, 6):
        update(model, optimizer)
        checkpoint.save(model, optimizer, Progress(step=step), best=False)
    weights = {f"step_{name}.safetensors" for name in ("2", "6", "6.optimizer")}
    assert names(checkpoint) == {"state.json", *weights}
    loaded = initial("lm")
    checkpoint.load_best(loaded)
    assert same_bytes(loaded.state_dict(), best)
    assert checkpoint.load(loaded, optimizer).step == 6
    assert same_bytes(loaded.state_dict(), model.state_dict())


def test_nothing_in_it_can_run_code(checkpoint):
    checkpoint.save(*trained(), Progress(step=2), best=True)
    for name in names(checkpoint):
        path = checkpoint.folder / name
        assert load_file(path) if path.suffix == ".safetensors" else json.loads(path.read_text())


def test_of_another_run_is_set_aside_and_the_log_says_why(checkpoint, caplog):
    """Not even a stop while files of the same names are written mixes them."""
    caplog.set_level("INFO")
    weights = trained()
    checkpoint.identity = {"options": {"choose": 0.15}, "code": {"a.py": "1", "torch": "2.13"}}
    checkpoint.save(*weights, Progress(step=2), best=True)
    other = Checkpoint(
        checkpoint.folder, {"options": {"choose": 0.4}, "code": {"a.py": "2", "torch": "2.14"}}
    )
    assert other.load(*trained(steps=0)) == Progress()
    words = "options.choose 0.15 -> 0.4; code: a.py; package: torch 2.13 -> 2.14"
    assert words in caplog.text
    other.save(*trained(steps=3), Progress(step=2), best=True)
    aside = Checkpoint(checkpoint.folder.with_suffix(".1"), checkpoint.identity)
    model, optimizer = trained(steps=0)
    assert aside.load(model, optimizer).step == 2
    assert same_bytes(model.state_dict(), weights[0].state_dict())
    # A second one has a name of its own.
    assert checkpoint.load(*trained(steps=0)) == Progress()
    assert checkpoint.folder.with_suffix(".2").exists()


def stop(*_):
    raise KeyboardInterrupt


def test_no_room_for_the_weights(checkpoint):
    model, optimizer = trained()
    checkpoint.save(model, optimizer, Progress(step=2), best=True)
    kept = {name: weight.clone() for name, weight in model.state_dict().items()}
    update(model, optimizer)
    with pytest.raises(UserError) as error, files_limited_to(1024):
        checkpoint.save(model, optimizer, Progress(step=4), best=True)
    message = str(error.value)
    assert "step 4" in message and str(checkpoint.folder) in message and "\n" not in message
    assert checkpoint.load(model, optimizer).step == 2
    assert same_bytes(model.state_dict(), kept)


@pytest.mark.parametrize("failing", [1, 2])
def test_no_room_at_any_file(checkpoint, monkeypatch, failing):
    model, optimizer = trained()
    checkpoint.save(model, optimizer, Progress(step=2), best=True)
    kept = {name: weight.clone() for name, weight in model.state_dict().items()}
    update(model, optimizer)
    written = []

    def save_file(tensors, path):
        written.append(path)
        if len(written) == failing:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "save_file", save_file)
    with pytest.raises(UserError, match="No space left on device"):
        checkpoint.save(model, optimizer, Progress(step=4), best=True)
    assert checkpoint.load(model, optimizer).step == 2
    assert same_bytes(model.state_dict(), kept)


@pytest.mark.parametrize("function", ["save_file", "os.replace"])
def test_stopped_while_it_is_written(checkpoint, monkeypatch, function):
    model, optimizer = trained()
    checkpoint.save(model, optimizer, Progress(step=2), best=True)
    kept = {name: weight.clone() for name, weight in model.state_dict().items()}
    update(model, optimizer)
    monkeypatch.setattr(f"bottomup.training.checkpoint.{function}", stop)
    with pytest.raises(KeyboardInterrupt):
        checkpoint.save(model, optimizer, Progress(step=4), best=True)
    assert checkpoint.load(model, optimizer).step == 2
    assert same_bytes(model.state_dict(), kept)
