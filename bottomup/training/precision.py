"""Number formats: bfloat16 where the device multiplies it in hardware."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import torch


def multiplies_bfloat16(device: torch.device) -> bool:
    """Whether the device has instructions for it: Ampere and later; AVX-512 BF16 or AMX."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def autocast(device: torch.device, precision: str) -> AbstractContextManager:
    """Matrix products in `precision`: "float32", "bfloat16", or "auto", the faster of the two.

    Weights, residual stream, normalization and loss stay in float32.
    """
    enabled = precision == "bfloat16" or (precision == "auto" and multiplies_bfloat16(device))
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=enabled)


@contextmanager
def coarse_products(device: torch.device, wanted: bool = True) -> Iterator[None]:
    """Float32 matrices are multiplied with 8 bits of each number, if that is wanted, and faster.

    Sums are kept in float32. For what corrects itself, as the passes of k-means; models are trained
    under `autocast`, which stores what it multiplies in bfloat16, too.
    """
    before = torch.get_float32_matmul_precision()
    faster = wanted and multiplies_bfloat16(device)
    torch.set_float32_matmul_precision("medium" if faster else before)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def sums_dtype(device: torch.device) -> torch.dtype:
    """The number format of sums of losses: float64, which MPS alone lacks."""
    return torch.float32 if device.type == "mps" else torch.float64
