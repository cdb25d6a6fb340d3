"""PWCCA with and without each block of documents.

PWCCA needs only the moments of a text. The moments without a block are those of all blocks less its
own, so leaving one out costs no further pass over the views.
"""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from bottomup.device import device
from bottomup.measures import jackknife, pwcca
from bottomup.views.moments import Moments, merged


def moments_of_blocks(
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    blocks: np.ndarray,
    count: int,
    device: torch.device | str = "cpu",
) -> list[Moments]:
    """The moments of two views `[n, d_x]` and `[n, d_y]`, one part for each of `count` blocks.

    blocks: the block of each row, `[n]`. A block without rows has empty moments.
    """
    rows = [np.flatnonzero(blocks == number) for number in range(count)]
    return [pwcca.moments_of(x[of_block], y[of_block], device) for of_block in rows]


def distances(blocks: list[Moments], kinds: list[tuple[str, str]]) -> Iterator[dict]:
    """PWCCA distances over all blocks together, with 95 % intervals.

    kinds: (variant, weights), see `pwcca.distances`. Returns one row of a table for each kind:
    distance, ci_low, ci_high, n_occurrences, and `jackknife.WITHOUT`.
    """
    whole = merged(blocks)
    pwcca.warn_of_few(whole)
    values = pwcca.distances(whole, kinds)
    # A block that is empty, or the only one, leaves the values as they are.
    without = np.stack(
        [
            pwcca.distances(whole.without(block), kinds) if 0 < block.n < whole.n else values
            for block in blocks
        ]
    )
    for value, of_kind in zip(values, without.T, strict=True):
        low, high = jackknife.interval(value, of_kind)
        row = {"distance": float(value), "ci_low": low, "ci_high": high}
        yield {**row, "n_occurrences": whole.n, jackknife.WITHOUT: of_kind}


def pwcca_rows(
    x: ArrayLike, y: ArrayLike, blocks: np.ndarray, variants: list[str]
) -> Iterator[dict]:
    """Rows of a table for two views: variant, weights, and the columns of `distances`."""
    kinds = pwcca.kinds_of(variants)
    parts = moments_of_blocks(x, y, blocks, jackknife.n_blocks(blocks), device())
    for (variant, weights), row in zip(kinds, distances(parts, kinds), strict=True):
        yield {"variant": variant, "weights": weights, **row}
