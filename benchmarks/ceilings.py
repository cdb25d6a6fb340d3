"""The machine's ceilings on one thread: matrix products and copies of memory."""

import time

import torch

from bottomup.core.precision import multiplies_bfloat16

# A product of square matrices of this width, 100 MB in float64; a copy that no cache holds.
WIDTH = 2048
COPIED_BYTES = 2**28
ROUNDS = 5
DTYPES = ("float64", "float32", "bfloat16")
# That of products which may be rounded, on this machine.
COARSE = "bfloat16" if multiplies_bfloat16(torch.device("cpu")) else "float32"


def measured() -> dict[str, float]:
    """Operations a second of a matrix product by number format, and bytes a second of a copy.

    The fastest of `ROUNDS` counts. A product of n x n matrices is 2 n^3 operations; a copy reads
    and writes each byte.
    """
    ceilings = {}
    for name in DTYPES:
        a, b = torch.randn(2, WIDTH, WIDTH).to(getattr(torch, name))
        ceilings[name] = 2 * WIDTH**3 / fastest(torch.mm, a, b)
    source = torch.zeros(COPIED_BYTES, dtype=torch.uint8)
    ceilings["copy"] = 2 * COPIED_BYTES / fastest(torch.empty_like(source).copy_, source)
    return ceilings


def fastest(function, *arguments) -> float:
    """The least CPU seconds of a call, after a first call that does not count."""
    function(*arguments)
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        function(*arguments)
        seconds.append(time.process_time() - start)
    return min(seconds)
