"""Weights in files, .safetensors."""

from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor

from bottomup.files import damaged, opening


def load_weights(path: Path) -> dict[str, Tensor]:
    """The tensors in a file, by name; UserError if it is damaged or a number is not finite."""
    with opening(path):
        tensors = load_file(path)
    require_finite(tensors, path)
    return tensors


def require_finite(tensors: dict[str, Tensor], path: Path) -> None:
    """Raise UserError if a number is NaN or infinite, which no training writes."""
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise damaged(path, f"{name} has numbers that are not finite")
