"""What is written has the permissions that the umask gives a new file."""

import logging
import os
import stat

import pytest
import torch
from torch import nn

from bottomup.core.files import by_umask
from bottomup.core.files.weights import save_weights
from bottomup.training import checkpoint
from bottomup.training.checkpoint import Finished, Progress
from tests.plan.checkouts import ROOT


@pytest.fixture(params=[0o002, 0o022, 0o077])
def umask(request):
    """The umask of a group, the usual one, and that of who shares nothing."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_weights(tmp_path, umask):
    save_weights({"a": torch.zeros(2)}, tmp_path / "a.safetensors", {"format": "pt"})
    assert mode(tmp_path / "a.safetensors") == 0o666 & ~umask
    assert os.umask(umask) == umask  # which stays


def test_all_files_of_a_folder(tmp_path, umask):
    (tmp_path / "in").mkdir()
    for name in ("a", "in/b"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o600)
    by_umask(tmp_path)
    assert {mode(tmp_path / "a"), mode(tmp_path / "in/b")} == {0o666 & ~umask}


def test_a_finished_run(tmp_path, umask):
    finished = Finished(tmp_path, {"seed": 1})
    finished.save(nn.Linear(1, 1), Progress())
    assert {mode(path) for path in tmp_path.iterdir()} == {0o666 & ~umask}


def test_one_place_writes_weights():
    files = [*(ROOT / "bottomup").rglob("*.py"), *(ROOT / "scripts").glob("*.py")]
    assert [f.name for f in files if "import load_file, save_file" in f.read_text()] == [
        "weights.py"
    ]
    assert sum("save_file(" in file.read_text() for file in files) == 1


def test_a_finished_run_of_another_user_is_trained_again(tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    finished = Finished(tmp_path, {"seed": 1})
    model = nn.Linear(1, 1)
    finished.save(model, Progress())

    def refused(path, *_):
        raise PermissionError(13, "Permission denied", str(path))

    for name in ("digest", "noted", "safe_open", "load_into"):
        with monkeypatch.context() as patched:
            patched.setattr(checkpoint, name, refused)
            assert finished.load(model) is None
    assert caplog.text.count("Permission denied") == 4 == caplog.text.count("is trained again")
