"""Where tensors are computed."""

import os
from collections.abc import Callable

import torch

from bottomup.core.errors import UserError


def device() -> torch.device:
    """The device that BOTTOMUP_DEVICE names (cuda or cpu), else the first visible GPU, else the
    CPU.

    On CUDA, PyTorch uses deterministic algorithms from then on, so that the same job gives the same
    bytes. If BOTTOMUP_DEVICE is mps, which has no float64, the device is the CPU; see
    `float32_device`.

    Raises UserError if PyTorch does not find the device.
    """
    chosen = float32_device()
    return torch.device("cpu") if chosen.type == "mps" else chosen


def float32_device() -> torch.device:
    """The device for work that needs no float64: as `device`, or mps if BOTTOMUP_DEVICE is mps."""
    available: dict[str, Callable[[], bool]] = {
        "cuda": torch.cuda.is_available,
        "mps": torch.backends.mps.is_available,
        "cpu": lambda: True,
    }
    asked = os.environ.get("BOTTOMUP_DEVICE") or ("cuda" if available["cuda"]() else "cpu")
    if asked not in available:
        raise UserError(f'BOTTOMUP_DEVICE: found "{asked}"; allowed: {", ".join(available)}')
    if not available[asked]():
        raise UserError(
            f"BOTTOMUP_DEVICE: found {asked}, which PyTorch {torch.__version__} does not find on "
            "this machine; unset it, or set it to cpu"
        )
    if asked == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # else cuBLAS varies
        torch.use_deterministic_algorithms(True)
    return torch.device(asked)


def gpus() -> int:
    """How many GPUs this process sees."""
    return torch.cuda.device_count()
