"""Weights in files, .safetensors."""

from collections.abc import Mapping
from pathlib import Path

from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from bottomup.core.files import by_umask, damaged, opening


def load_weights(path: Path) -> dict[str, Tensor]:
    """The tensors in a file, by name; UserError if it is damaged or a number is not finite."""
    with opening(path):
        tensors = load_file(path)
    require_finite(tensors, path)
    return tensors


def load_into(model: nn.Module, path: Path) -> None:
    """Load the weights in a file into `model`.

    Raises UserError, and leaves the model as it is, unless the weights are finite and are those of
    the model, see `unlike`.
    """
    tensors = load_weights(path)
    if wrong := unlike(model, tensors):
        raise damaged(path, f"not of its model: {len(wrong)} of its weights, {wrong[0]} first")
    model.load_state_dict(tensors)


def unlike(model: nn.Module, tensors: Mapping[str, Tensor]) -> list[str]:
    """The names of weights that a model and some tensors do not have alike: with the same shape and
    type."""
    expected, loaded = (
        {name: (tensor.shape, tensor.dtype) for name, tensor in some.items()}
        for some in (model.state_dict(), tensors)
    )
    return sorted({name for name, _ in expected.items() ^ loaded.items()})


def save_weights(
    tensors: Mapping[str, Tensor], path: Path, metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors by name, and text about them, to a file with the permissions of the umask.

    safetensors itself lets only the owner read its files.
    """
    save_file(dict(tensors), path, None if metadata is None else dict(metadata))
    by_umask(path)


def require_finite(tensors: dict[str, Tensor], path: Path) -> None:
    """Raise UserError if a number is NaN or infinite, which no training writes."""
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise damaged(path, f"{name} has numbers that are not finite")


def header(path: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of the tensors in a file, by name, without reading them; UserError if it is
    damaged."""
    with opening(path), safe_open(path, "pt") as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
