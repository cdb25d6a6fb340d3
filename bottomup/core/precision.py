"""Number formats: bfloat16 where the device multiplies it in hardware."""

from contextlib import AbstractContextManager

import torch


def multiplies_bfloat16(device: torch.device) -> bool:
    """Whether hardware multiplies bfloat16: a GPU from Ampere on, a CPU's AVX-512 BF16 or AMX."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def autocast(device: torch.device, precision: str) -> AbstractContextManager:
    """A context for matrix products in `precision`: "float32", "bfloat16", or "auto", which is
    bfloat16 if the device `multiplies_bfloat16`.

    Weights, residual stream, normalization and loss stay in float32.
    """
    enabled = precision == "bfloat16" or (precision == "auto" and multiplies_bfloat16(device))
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=enabled)


def sums_dtype(device: torch.device) -> torch.dtype:
    """The number format of sums of losses: float64, but float32 on MPS, which has no float64."""
    return torch.float32 if device.type == "mps" else torch.float64
