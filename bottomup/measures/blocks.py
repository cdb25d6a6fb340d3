"""PWCCA with and without each block of documents.

PWCCA needs only the moments of a text. The moments without a block are those of all blocks less its
own, so leaving one out costs no further pass over the views.
"""

import logging
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from bottomup.core.files.joins import require_equal_lengths
from bottomup.measures import jackknife, pwcca
from bottomup.views.moments import Moments, merged

log = logging.getLogger(__name__)


def moments_of_blocks(
    x: np.ndarray | Tensor,
    y: np.ndarray | Tensor,
    blocks: np.ndarray,
    count: int,
    device: torch.device | str = "cpu",
) -> list[Moments]:
    """The moments of two views `[n, d_x]` and `[n, d_y]`, one part for each of `count` blocks.

    blocks: the block of each row, `[n]`. A block without rows has empty moments.
    """
    require_equal_lengths(x=x, y=y, blocks=blocks)
    rows = [np.flatnonzero(blocks == number) for number in range(count)]
    return [pwcca.moments_of(x[of_block], y[of_block], device) for of_block in rows]


def distances(blocks: list[Moments], kinds: list[tuple[str, str]]) -> Iterator[dict]:
    """PWCCA distances over all blocks together, with 95 % intervals.

    kinds: (variant, weights), see `pwcca.distances`. Returns one row of a table for each kind:
    distance, ci_low, ci_high, n_occurrences, n_needed (how many a distance needs; with fewer there
    is none), and `jackknife.WITHOUT`.
    """
    whole = merged(blocks)
    needed = pwcca.rows_needed(whole.d_x, whole.d_y)
    rest = (
        whole.without(block) if block.n < whole.n else Moments(whole.d_x, whole.d_y)
        for block in blocks
    )
    values, without = measured(whole, rest, kinds)
    for value, of_kind in zip(values, without.T, strict=True):
        yield row(value, of_kind, whole.n, needed)


def measured(
    whole: Moments, rest: Iterable[Moments], kinds: list[tuple[str, str]]
) -> tuple[np.ndarray, np.ndarray]:
    """The distances `[len(kinds)]`, and those without each block `[n_blocks, len(kinds)]`; NaN
    where there are too few occurrences, or a view is the same at all of them.

    whole: the moments of all blocks; rest: those without each. Without one of a few large blocks,
    less than half of what is needed may be left. That alone would lower the distance, so it is NaN.
    """
    known = pwcca.enough(whole)
    if known and not pwcca.varies(whole):
        log.warning(f"a view is the same at all {whole.n} occurrences: no distance")
        known = False
    if not known:
        nothing = np.full((sum(1 for _ in rest), len(kinds)), np.nan)
        return np.full(len(kinds), np.nan), nothing
    pwcca.tell_left_out(whole)
    values = pwcca.distances(whole, kinds)
    least = pwcca.rows_needed(whole.d_x, whole.d_y) / 2

    def of(some: Moments) -> np.ndarray:
        if some.n == whole.n:
            return values
        known = some.n >= least and pwcca.varies(some)
        return pwcca.distances(some, kinds) if known else np.full(len(kinds), np.nan)

    return values, np.stack([of(some) for some in rest])


def row(value: float, without: np.ndarray, n: int, needed: int) -> dict:
    """The columns of `distances`."""
    estimate = jackknife.estimate("distance", value, without, jackknife.UNIT)
    without = estimate.pop(jackknife.WITHOUT)
    return {**estimate, "n_occurrences": n, "n_needed": needed, jackknife.WITHOUT: without}
