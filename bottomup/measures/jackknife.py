"""Standard errors by leaving out one block of documents at a time.

The delete-a-group jackknife (Efron 1982, "The Jackknife, the Bootstrap and Other Resampling
Plans", chapter 3; Kott 2001). Without one block nearly the whole text is left, so whatever depends
on the number of occurrences, such as the bias of an entropy or the distance to the nearest
neighbor, hardly moves. Every measure leaves out the same documents, so the values of two layers,
groups or runs can be compared in pairs.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import stdtrit

# A column of every table of estimates: the values without each block.
WITHOUT = "without"


def n_blocks(blocks: np.ndarray) -> int:
    """The number of blocks: one more than the highest number."""
    return int(np.max(blocks)) + 1


def error(without: np.ndarray) -> np.ndarray:
    """The standard error of a value, from its values without each block: `[..., n_blocks]`.

    NaN for fewer than two blocks.
    """
    n = without.shape[-1]
    if n < 2:
        return np.full(without.shape[:-1], np.nan)
    deviations = without - without.mean(-1, keepdims=True)
    return np.sqrt((n - 1) / n * (deviations**2).sum(-1))


def interval(value: float, without: np.ndarray, noise: float = 0.0) -> tuple[float, float]:
    """The 95 % interval of `value`, by Student's t, for one run; other runs may differ by more.

    without: `[n_blocks]`; noise: the standard error due to other draws than that of the text, such
    as the first centers of clusters.
    """
    n = len(without)
    # As in scipy.stats, but importing that would take most of the time of a small job.
    half_width = stdtrit(max(n - 1, 1), 0.975) * np.hypot(error(without), noise)
    return float(value - half_width), float(value + half_width)


def estimate(name: str, value: float, without: np.ndarray) -> dict:
    """The columns of an estimate: `name`, ci_low, ci_high and `WITHOUT`."""
    low, high = interval(value, without)
    return {name: float(value), "ci_low": low, "ci_high": high, WITHOUT: without}


def sums_without(totals: np.ndarray, blocks: np.ndarray, count: int) -> np.ndarray:
    """For each block, the sum of `totals` `[n, ...]` over the rows of all others: `[count, ...]`.

    blocks: the block of each row, `[n]`, below `count`.
    """
    by_block = np.zeros((count, *totals.shape[1:]))
    np.add.at(by_block, blocks, totals)
    return by_block.sum(0) - by_block


def sums(totals: np.ndarray, blocks: np.ndarray, count: int) -> np.ndarray:
    """The sum over all rows, then those of `sums_without`: `[1 + count, ...]`."""
    whole = totals.sum(axis=0, keepdims=True)
    return np.concatenate([whole, sums_without(totals, blocks, count)])


def ratio(parts: np.ndarray, wholes: np.ndarray) -> np.ndarray:
    """parts / wholes; NaN where wholes are 0."""
    with np.errstate(invalid="ignore"):
        return parts / wholes


def write(rows: Iterable[dict] | pd.DataFrame, table: Path) -> None:
    """Write rows of estimates as `table` (.csv), and beside it (.parquet) the same rows with their
    values without each block, `[n_blocks]`: in the column `WITHOUT` and in columns whose names end
    in it."""
    frame = pd.DataFrame(rows)
    arrays = [name for name in frame if name.endswith(WITHOUT)]
    frame.drop(columns=arrays).to_csv(table, index=False)
    frame.to_parquet(Path(table).with_suffix(".parquet"), index=False)
