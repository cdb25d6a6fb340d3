import json
import os
from contextlib import contextmanager, nullcontext
from pathlib import Path
from unittest import mock

import pytest
import torch
from safetensors.torch import load_file, save_file

from bottomup.core.errors import UserError
from bottomup.core.files import digest
from bottomup.training import checkpoint as checkpoints
from bottomup.training.checkpoint import Checkpoint, Finished, Progress, digest_of
from bottomup.training.optimizers import optimizers
from tests.tiny import files_limited_to, initial, same_bytes


def trained(steps: int = 2):
    """A model and its two optimizers after some updates."""
    model = initial("lm")
    both = optimizers(model, "muon")
    for _ in range(steps):
        update(model, both)
    return model, both


def update(model, both):
    model.head(model(torch.tensor([[4, 5, 6]]))).square().sum().backward()
    for optimizer in both:
        optimizer.step()
        optimizer.zero_grad()


@pytest.fixture
def checkpoint(tmp_path):
    return Checkpoint(tmp_path / "checkpoint", {"run": "this"})


def names(checkpoint):
    return {path.name for path in checkpoint.folder.iterdir()}


def test_nothing_to_load(checkpoint):
    model, both = initial("lm"), trained()[1]
    assert checkpoint.load(model, both) == Progress()
    assert same_bytes(model.state_dict(), initial("lm").state_dict())


def test_everything_comes_back(checkpoint):
    model, both = trained()
    progress = Progress(2, 70, 0.1 + 0.2, 1, [{"step": 2, "dev_loss_nats": 1 / 3}])
    checkpoint.save(model, both, progress, best=True)
    other, others = trained(steps=0)
    assert checkpoint.load(other, others) == progress
    assert same_bytes(model.state_dict(), other.state_dict())
    update(model, both)
    update(other, others)
    assert same_bytes(model.state_dict(), other.state_dict())


def test_two_states_and_their_best_weights_are_kept(checkpoint):
    model, both = trained()
    checkpoint.save(model, both, Progress(step=2), best=True)
    best = {name: weight.clone() for name, weight in model.state_dict().items()}
    for step in (4, 6, 8):
        update(model, both)
        checkpoint.save(model, both, Progress(step=step), best=False)
    steps = ("2", "6", "6.optimizer", "8", "8.optimizer")
    weights = {f"step_{name}.safetensors" for name in steps}
    assert names(checkpoint) == {"state.json", "previous.json", *weights}
    loaded = initial("lm")
    checkpoint.load_best(loaded)
    assert same_bytes(loaded.state_dict(), best)
    assert checkpoint.load(loaded, both).step == 8
    assert same_bytes(loaded.state_dict(), model.state_dict())


@pytest.fixture
def saved(checkpoint):
    """A checkpoint with states of the steps 2, 4 and 6, of which those of 4 and 6 are kept; the
    weights of each, and the optimizers to go on with."""
    model, both = trained()
    of_steps = {}
    for step in (2, 4, 6):
        progress = Progress(step, metrics=[{"step": step}])
        checkpoint.save(model, both, progress, best=step != 4)
        of_steps[step] = {name: weight.clone() for name, weight in model.state_dict().items()}
        update(model, both)
    return checkpoint, of_steps


def flip(path):
    content = bytearray(path.read_bytes())
    content[-len(content) // 4] ^= 1
    path.write_bytes(content)


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES = {
    "flipped": flip,
    "cut": cut,
    "emptied": lambda path: path.write_bytes(b""),
    "missing": lambda path: path.unlink(),
    "of another kind": lambda path: path.write_text('["state"]'),
    "all brackets": lambda path: path.write_text("[" * 100_000),
}
NEWEST = ("state.json", "step_6.safetensors", "step_6.optimizer.safetensors")


@pytest.mark.parametrize("name", NEWEST)
@pytest.mark.parametrize("damage", DAMAGES)
def test_where_it_is_damaged_the_one_before_is_taken(saved, damage, name, caplog):
    caplog.set_level("INFO")
    checkpoint, weights = saved
    DAMAGES[damage](checkpoint.folder / name)
    model, both = trained(steps=0)
    assert checkpoint.load(model, both) == Progress(4, metrics=[{"step": 4}])
    assert same_bytes(model.state_dict(), weights[4])
    checkpoint.load_best(model)
    assert same_bytes(model.state_dict(), weights[2])
    if (damage, name) != ("missing", "state.json"):  # as a stop between two renamings leaves it
        assert f"{name} is missing or damaged: going on from the checkpoint before" in caplog.text
    # And it is then the one before.
    checkpoint.save(model, both, Progress(step=6), best=False)
    DAMAGES[damage](checkpoint.folder / name)
    assert checkpoint.load(model, both).step == 4


@pytest.mark.parametrize("damage", DAMAGES)
def test_none_is_whole(saved, damage):
    checkpoint, _ = saved
    for name in ("step_6.safetensors", "step_2.safetensors"):
        DAMAGES[damage](checkpoint.folder / name)
    with pytest.raises(UserError) as error:
        checkpoint.load(*trained(steps=0))
    message = str(error.value)
    assert "step_6.safetensors is missing or damaged" in message and "\n" not in message
    assert f"delete {checkpoint.folder} and run again" in message


def test_best_weights_that_are_damaged_at_the_end(saved):
    checkpoint, _ = saved
    flip(checkpoint.folder / "step_6.safetensors")
    with pytest.raises(UserError, match=r"step_6.safetensors is damaged: .*; delete it and run"):
        checkpoint.load_best(initial("lm"))


def test_a_state_that_names_weights_elsewhere(saved, tmp_path):
    """Even one whose digest is right."""
    checkpoint, _ = saved
    path = checkpoint.folder / "state.json"
    state = json.loads(path.read_text())["state"]
    for step in ("../6", 6.0, True):
        other = state | {"newest": step}
        path.write_text(json.dumps({"digest": checkpoints.digest_of(other), "state": other}))
        assert checkpoints.not_as_written(path) == [path]
    named = state | {"files": {**state["files"], "../other.safetensors": "0" * 64}}
    path.write_text(json.dumps({"digest": checkpoints.digest_of(named), "state": named}))
    assert checkpoint.load(*trained(steps=0)).step == 4


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
    model, both = trained(steps=0)
    assert aside.load(model, both).step == 2
    assert same_bytes(model.state_dict(), weights[0].state_dict())
    # A second one has a name of its own.
    third = Checkpoint(checkpoint.folder, {"options": {"choose": 0.5}})
    assert third.load(*trained(steps=0)) == Progress()
    assert checkpoint.folder.with_suffix(".2").exists()


def test_a_run_to_whose_settings_one_returns_goes_on(checkpoint, caplog):
    """As after an edit that was taken back: hours of training were in the folder beside it."""
    caplog.set_level("INFO")
    checkpoint.save(*trained(), Progress(step=2), best=True)
    other = Checkpoint(checkpoint.folder, {"run": "another"})
    other.load(*trained(steps=0))
    other.save(*trained(), Progress(step=3), best=True)
    assert checkpoint.load(*trained(steps=0)).step == 2
    assert f"going on from {checkpoint.folder}.1, which was set aside" in caplog.text
    assert other.load(*trained(steps=0)).step == 3 and checkpoint.load(*trained(steps=0)).step == 2
    assert {path.name for path in checkpoint.folder.parent.iterdir()} == {
        "checkpoint",
        "checkpoint.2",
    }


def test_of_two_of_a_run_that_were_set_aside_the_one_that_came_furthest_goes_on(checkpoint):
    for number, step in ((1, 4), (2, 6), (3, 2)):
        aside = Checkpoint(checkpoint.folder.with_suffix(f".{number}"), checkpoint.identity)
        aside.save(*trained(), Progress(step=step), best=True)
    (checkpoint.folder.parent / "checkpoint.lock").touch()
    assert checkpoint.load(*trained(steps=0)).step == 6


def test_a_link_to_the_checkpoint_of_another_study_is_not_taken_back(checkpoint, tmp_path):
    """What it leads to would be written."""
    theirs = Checkpoint(tmp_path / "theirs/checkpoint", checkpoint.identity)
    theirs.save(*trained(), Progress(step=4), best=True)
    checkpoint.folder.parent.mkdir(exist_ok=True)
    checkpoint.folder.with_suffix(".1").symlink_to(theirs.folder)
    assert checkpoint.load(*trained(steps=0)) == Progress()


def stop(*_):
    raise KeyboardInterrupt


@pytest.fixture
def fails(checkpoint):
    """As a context, a second saving that is to raise an error, after which the first is whole."""

    @contextmanager
    def fails(error, within=nullcontext()):  # noqa: B008 - it holds nothing
        model, both = trained()
        checkpoint.save(model, both, Progress(step=2), best=True)
        kept = {name: weight.clone() for name, weight in model.state_dict().items()}
        update(model, both)
        with pytest.raises(error) as raised, pytest.MonkeyPatch.context() as patch:
            yield raised, patch
            with within:
                checkpoint.save(model, both, Progress(step=4), best=True)
        assert checkpoint.load(model, both).step == 2
        assert same_bytes(model.state_dict(), kept)

    return fails


def test_no_room_for_the_weights(checkpoint, fails):
    with fails(UserError, files_limited_to(1024)) as (error, _):
        pass
    message = str(error.value)
    assert "step 4" in message and str(checkpoint.folder) in message and "\n" not in message


@pytest.mark.parametrize("failing", [1, 2])
def test_no_room_at_any_file(fails, failing):
    written = []

    def save_file(tensors, path):
        written.append(path)
        if len(written) == failing:
            raise OSError(28, "No space left on device")
        path.touch()

    with fails(UserError) as (error, patch):
        patch.setattr(checkpoints, "save_weights", save_file)
    assert "No space left on device" in str(error.value)


@pytest.mark.parametrize("function", ["save_weights", "os.replace"])
def test_stopped_while_it_is_written(fails, function):
    with fails(KeyboardInterrupt) as (_, patch):
        patch.setattr(f"bottomup.training.checkpoint.{function}", stop)


def test_stopped_between_two_renamings(fails):
    replace = os.replace

    def first_only(source, target):
        if source.name == "state.tmp":
            raise KeyboardInterrupt
        replace(source, target)

    with fails(KeyboardInterrupt) as (_, patch):
        patch.setattr("os.replace", first_only)


@pytest.mark.parametrize("damage", ["flipped", "cut", "emptied"])
@pytest.mark.parametrize("ending", ["safetensors", "sha256"])
def test_a_finished_run_that_is_damaged_is_not_taken(tmp_path, damage, ending, caplog):
    caplog.set_level("INFO")
    finished = Finished(tmp_path, {"run": "this"})
    model = trained()[0]
    finished.save(model, Progress(step=2))
    taken = initial("lm", seed=2)
    assert finished.load(taken) == Progress(step=2)
    assert same_bytes(taken.state_dict(), model.state_dict())
    if ending == "sha256" and damage == "flipped":
        finished.path.with_suffix(".sha256").unlink()
    else:
        DAMAGES[damage](finished.path.with_suffix(f".{ending}"))
    assert finished.load(initial("lm")) is None
    assert "is damaged, or has no digest: the run is trained again" in caplog.text
    finished.save(model, Progress(step=2))
    assert finished.load(taken) == Progress(step=2)


def test_a_save_that_was_killed_leaves_nothing_once_the_run_is_whole(tmp_path):
    finished, (model, _) = Finished(tmp_path / "trained", {"run": "this"}), trained()
    # A kill, after which nothing is deleted.
    killed = mock.patch.object(checkpoints, "digest", side_effect=KeyboardInterrupt)
    with killed, mock.patch.object(Path, "unlink"), pytest.raises(KeyboardInterrupt):
        finished.save(model, Progress(step=2))
    assert sum(path.suffix not in (".lock", ".sha256") for path in finished.path.parent.iterdir())
    finished.save(model, Progress(step=2))
    whole = {finished.path, finished.path.with_suffix(".sha256")}
    assert {*finished.path.parent.iterdir()} == whole
    assert finished.load(initial("lm", seed=2)) == Progress(step=2)


def test_a_save_that_fails_leaves_the_run_that_another_study_has_kept(tmp_path, caplog):
    caplog.set_level("INFO")
    finished, (model, _) = Finished(tmp_path, {"run": "this"}), trained()
    finished.save(model, Progress(step=2))
    with mock.patch.object(checkpoints, "save_weights", side_effect=OSError("full")):
        finished.save(model, Progress(step=2))
    assert "the run is not kept for other studies: full" in caplog.text
    assert finished.load(initial("lm", seed=2)) == Progress(step=2)


def as_if_whole(finished, tensors, progress='{"step": 2}'):
    """A finished run that somebody else wrote, with its digest."""
    save_file(tensors, finished.path, {"progress": progress})
    finished.path.with_suffix(".sha256").write_text(
        f"{digest(finished.path)}  {finished.path.name}"
    )


def foreign(tensors):
    name = min(tensors)
    return {
        "not a number": {**tensors, name: tensors[name] * float("nan")},
        "other names": {**tensors, "other": tensors[name].clone()},
        "fewer": {key: value for key, value in tensors.items() if key != name},
        "another shape": {**tensors, name: tensors[name][:1]},
        "another type": {**tensors, name: tensors[name].half()},
    }


@pytest.mark.parametrize("how", [*foreign({"a": torch.ones(2)}), "a folder", "a forged note"])
def test_a_finished_run_that_is_another_is_not_taken(tmp_path, how, caplog):
    """Its digest is right; the line says what is not, and the model stays as it was."""
    caplog.set_level("INFO")
    finished = Finished(tmp_path, {"run": "this"})
    model = trained()[0]
    finished.save(model, Progress(step=2))
    if how == "a folder":
        finished.path.unlink()
        finished.path.mkdir()
    elif how == "a forged note":
        as_if_whole(finished, model.state_dict(), '{"steps": 2}')
    else:
        as_if_whole(finished, foreign(model.state_dict())[how])
    taken, before = initial("lm", seed=2), initial("lm", seed=2).state_dict()
    assert finished.load(taken) is None
    assert same_bytes(taken.state_dict(), before)
    assert caplog.messages[-1].startswith(str(finished.path))
    assert caplog.messages[-1].endswith(": the run is trained again")
    finished.save(model, Progress(step=2))
    assert how == "a folder" or finished.load(taken) == Progress(step=2)


@pytest.mark.parametrize("forged", [{"step": "x", "more": 1}, [], None])
def test_a_state_with_another_content_is_one_line(saved, forged):
    checkpoint, _ = saved
    path = checkpoint.folder / "state.json"
    state = json.loads(path.read_text())["state"] | {"progress": forged}
    path.write_text(json.dumps({"digest": digest_of(state), "state": state}))
    with pytest.raises(UserError, match=r"state.json is damaged: .*; delete it and run"):
        checkpoint.load(*trained(steps=0))


def test_weights_of_a_state_that_are_not_numbers_are_one_line(saved):
    checkpoint, _ = saved
    name = "step_6.safetensors"
    save_file(foreign(trained()[0].state_dict())["not a number"], checkpoint.folder / name)
    path = checkpoint.folder / "state.json"
    state = json.loads(path.read_text())["state"]
    state["files"][name] = digest(checkpoint.folder / name)
    path.write_text(json.dumps({"digest": digest_of(state), "state": state}))
    with pytest.raises(UserError, match=f"{name} is damaged: .* not finite; delete it and run"):
        checkpoint.load(*trained(steps=0))


@pytest.mark.parametrize("folders", [["state.json"], ["state.json", "previous.json"]])
def test_a_state_that_is_a_folder_is_one_line(saved, folders):
    checkpoint, _ = saved
    for name in folders:
        (checkpoint.folder / name).unlink()
        (checkpoint.folder / name / "x").mkdir(parents=True)
    with pytest.raises(UserError, match=r"state\.json"):
        checkpoint.load(*trained(steps=0))


def test_what_keeps_the_first_checkpoint_from_being_written(checkpoint, monkeypatch):
    """No line tells of a checkpoint that is not there, nor of space where there is enough."""
    model, both = trained()
    checkpoint.folder.parent.mkdir(exist_ok=True)
    checkpoint.folder.write_text("a file")
    with pytest.raises(UserError) as error:
        checkpoint.save(model, both, Progress(step=2), best=True)
    assert "File exists" in str(error.value)
    assert "free some space" not in str(error.value) and "is kept" not in str(error.value)
    checkpoint.folder.unlink()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bottomup.training.checkpoint.save_weights", full)
    with pytest.raises(UserError) as error:
        checkpoint.save(model, both, Progress(step=2), best=True)
    assert str(error.value).endswith("No space left on device; free some space and run again")


def test_a_checkpoint_that_is_a_link_is_left_as_it_is(saved, tmp_path):
    checkpoint, _ = saved
    (tmp_path / "link").symlink_to(checkpoint.folder)
    before = names(checkpoint)
    with pytest.raises(UserError, match=f"link is a link to {checkpoint.folder}"):
        Checkpoint(tmp_path / "link", {"run": "another"})
    assert names(checkpoint) == before
