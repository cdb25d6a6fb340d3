import os

import pytest
import torch

from bottomup.core.device import device, float32_device
from bottomup.core.errors import UserError
from tests.pretend_gpu import pretend_gpu


@pytest.fixture(autouse=True)
def asked(monkeypatch):
    """What BOTTOMUP_DEVICE asks for, at first nothing."""
    monkeypatch.delenv("BOTTOMUP_DEVICE", raising=False)
    return lambda value: monkeypatch.setenv("BOTTOMUP_DEVICE", value)


def kinds():
    return device().type, float32_device().type


@pytest.mark.parametrize(
    ("there", "value", "expected"),
    [
        ("cuda", "", ("cuda", "cuda")),
        ("cuda", "cuda", ("cuda", "cuda")),
        ("cuda", "cpu", ("cpu", "cpu")),
        ("mps", "", ("cpu", "cpu")),  # only where it is asked for
        ("mps", "mps", ("cpu", "mps")),
        ("mps", "cpu", ("cpu", "cpu")),
    ],
)
def test_what_is_there_and_asked_for(asked, there, value, expected):
    asked(value)
    with pretend_gpu(there):
        assert kinds() == expected


@pytest.mark.parametrize(("there", "value"), [("cuda", "mps"), ("mps", "cuda")])
def test_what_is_not_there_is_one_line(asked, there, value):
    asked(value)
    for choose in (device, float32_device):
        with pretend_gpu(there), pytest.raises(UserError) as error:
            choose()
        assert str(error.value) == (
            f"BOTTOMUP_DEVICE: found {value}, which PyTorch {torch.__version__} does not find on "
            "this machine; unset it, or set it to cpu"
        )


def test_what_is_no_device_is_one_line(asked):
    asked("gpu")
    with pytest.raises(UserError, match='found "gpu"; allowed: cuda, mps, cpu'):
        device()


def test_on_cuda_additions_have_one_order():
    with pretend_gpu("cuda"):
        device()
        assert torch.are_deterministic_algorithms_enabled()
        assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    assert not torch.are_deterministic_algorithms_enabled()
