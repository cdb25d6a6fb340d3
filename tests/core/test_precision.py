import pytest
import torch

from bottomup.core import precision
from bottomup.core.precision import autocast

CPU = torch.device("cpu")


def dtype_of_products(name):
    linear = torch.nn.Linear(2, 2)
    with autocast(CPU, name):
        return linear(torch.ones(1, 2)).dtype


def test_products_are_in_the_asked_precision():
    assert dtype_of_products("float32") == torch.float32
    assert dtype_of_products("bfloat16") == torch.bfloat16


@pytest.mark.parametrize("fast, dtype", [(True, torch.bfloat16), (False, torch.float32)])
def test_auto_is_what_the_hardware_does_well(monkeypatch, fast, dtype):
    monkeypatch.setattr(precision, "multiplies_bfloat16", lambda device: fast)
    assert dtype_of_products("auto") == dtype
