"""Intervals by leaving out one block of documents at a time.

The delete-a-group jackknife (Efron 1982, "The Jackknife, the Bootstrap and Other Resampling
Plans", chapter 3; Kott 2001). Without one block nearly the whole text is left, so whatever depends
on the number of occurrences, such as the bias of an entropy or the distance to the nearest
neighbor, hardly moves. Every measure leaves out the same documents, so the values of two layers,
groups or runs can be compared in pairs.

Only blocks that hold something of what a value is about tell how far other text would move it, and
of several the large ones tell the most. So they are counted from the values themselves: see
`degrees_of_freedom`. What a quantity can be is declared where it is measured, as a `Range`, and its
interval is made on a scale on which that range has no end.
"""

from dataclasses import dataclass
from typing import overload

import numpy as np
from scipy.special import betaincinv, expit, logit, stdtrit

from bottomup.core.files.tables import WITHOUT

# What is smaller than this, relative to the values, is their rounding.
ROUNDING = 1e-12
# While a share has few hits, or few misses, blocks tell little of how alike the cases of one block
# are. Then this correlation is assumed, with the weight of so many hits (docs/decisions.md).
LIKENESS = 0.25
ASSUMED_HITS = 5


@dataclass(frozen=True)
class Range:
    """The range of a quantity, both ends included."""

    low: float = -np.inf
    high: float = np.inf

    @property
    def of_differences(self) -> "Range":
        """The range of a difference of two such quantities."""
        return Range(self.low - self.high, self.high - self.low)

    def around(self, value: float, half_width: float) -> tuple[float, float]:
        """The interval around `value`, symmetric on a scale on which the range has no end: the
        logit, the logarithm or the value itself. A small interval has this `half_width`. Both ends
        are NaN if `value` lies at an end of the range, or an end would be infinite."""
        below, above = value - self.low, self.high - value
        if not (below > 0 and above > 0 and np.isfinite(half_width)):
            return np.nan, np.nan
        if np.isinf(below) and np.isinf(above):
            return float(value - half_width), float(value + half_width)
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isinf(above):
                ends = self.low + below * np.exp(np.array([-1, 1]) * half_width / below)
            elif np.isinf(below):
                ends = self.high - above * np.exp(np.array([1, -1]) * half_width / above)
            else:
                width = self.high - self.low
                steps = np.array([-1, 1]) * half_width * width / (below * above)
                ends = self.low + width * expit(logit(below / width) + steps)
        low, high = np.clip(ends, self.low, self.high)
        return (float(low), float(high)) if np.isfinite(high - low) else (np.nan, np.nan)


ANY = Range()
NOT_NEGATIVE = Range(0)
UNIT = Range(0, 1)  # shares, probabilities, and distances that are 1 less a mean correlation
COSINE = Range(-1, 1)  # and other correlations
AT_MOST_ONE = Range(high=1)  # shares above chance, or of a variance, which may be far below 0


def n_blocks(blocks: np.ndarray) -> int:
    """The number of blocks: one more than the highest number."""
    return int(np.max(blocks)) + 1


def deviations(values: np.ndarray | float, without: np.ndarray) -> np.ndarray:
    """What each block adds to the error of values: `[..., n_blocks]`.

    values: `[...]`; without: the same without each block, `[..., n_blocks]`. The squares add up to
    the variance. A block without which a value stays as it is holds nothing of it and counts as
    none. NaN if one block alone holds something, or a value is NaN without a block.
    """
    values = np.asarray(values, dtype=float)[..., None]
    scale = np.maximum(np.abs(values), np.abs(without).max(-1, keepdims=True, initial=0))
    moved = np.abs(without - values) > ROUNDING * scale
    n = moved.sum(-1, keepdims=True)
    mean = np.where(moved, without, 0).sum(-1, keepdims=True) / np.maximum(n, 1)
    added = np.where(moved, without - mean, 0.0) * np.sqrt(1 - 1 / np.maximum(n, 1))
    unknown = (n == 1) | np.isnan(without).any(-1, keepdims=True) | (without.shape[-1] < 2)
    return np.where(unknown, np.nan, added)


def error(values: np.ndarray | float, without: np.ndarray) -> np.ndarray:
    """The standard error of values, `[...]`; arguments as in `deviations`."""
    return np.sqrt((deviations(values, without) ** 2).sum(-1))


def degrees_of_freedom(deviations: np.ndarray) -> np.ndarray:
    """The degrees of freedom of a variance: the sum of squared `deviations` `[..., n_blocks]`.

    At most one less than the number of blocks that deviate. With blocks of variances s_i^2, the
    approximation of Satterthwaite is (sum s_i^2)^2 / sum s_i^4. A normal deviation d has a mean d^4
    of 3 s^4, so (sum d_i^2)^2 overestimates by 2 sum s_i^4, and 3 (sum d_i^2)^2 / sum d_i^4 is on
    average 2 too many.
    """
    squares = deviations**2
    largest = squares.max(-1, initial=0)
    shares = squares / np.where(largest > 0, largest, 1)[..., None]
    n = (shares > ROUNDING).sum(-1)
    satterthwaite = 3 * shares.sum(-1) ** 2 / np.maximum((shares**2).sum(-1), ROUNDING) - 2
    return np.maximum(np.minimum(satterthwaite, n - 1), 1)


def interval(
    value: float,
    without: np.ndarray,
    within: Range,
    cases: np.ndarray | None = None,
    noise: float = 0.0,
) -> tuple[float, float]:
    """The 95 % interval of `value`, for one run; other runs may differ by more.

    without: `[n_blocks]`. within: what the quantity can be. cases: for a share of cases, how many
    of them each block has, `[n_blocks]`. noise: the standard error due to other draws than that of
    the text, such as the first centers of clusters.

    Both ends are NaN where the text does not tell: if one block has all that the value is about, or
    all of a part without which there is no value; if no block moves it; or (but for a share of
    cases) if it lies at an end of its range.
    """
    if cases is not None:
        return _of_share(value, without, np.asarray(cases))
    spread = deviations(value, np.asarray(without))
    of_text = np.sqrt((spread**2).sum())
    width = within.high - within.low
    size = width if np.isfinite(width) else abs(value)
    if not of_text > ROUNDING * size:
        return np.nan, np.nan
    t = _quantile(degrees_of_freedom(spread))
    low, high = within.around(value, t * np.hypot(of_text, noise))
    return (low, high) if low < high else (np.nan, np.nan)


def _of_share(value: float, without: np.ndarray, cases: np.ndarray) -> tuple[float, float]:
    """The interval of Clopper and Pearson for as many independent cases as tell as much about the
    share as these do (Korn and Graubard 1998, "Confidence intervals for proportions with small
    expected number of positive counts estimated from survey data").

    Where the share is 0 or 1, or has few hits, its variance says nothing of how alike cases of one
    block are; see `LIKENESS`.
    """
    held = cases[cases > 0]
    n, n_held = held.sum(), len(held)
    # A mean of several shares may lose one of them with a block: then nothing is known.
    if n_held < 2 or np.isnan(value) or np.isnan(without).any():
        return np.nan, np.nan
    value = min(max(value, 0.0), 1.0)
    spread = np.nan_to_num(deviations(value, np.asarray(without)))
    variance, binomial = (spread**2).sum(), value * (1 - value) / n
    independent = n * min(1.0, binomial / variance) if variance > 0 else n
    assumed = min(independent, n / (1 + (n / n_held - 1) * LIKENESS))
    weight = ASSUMED_HITS / (ASSUMED_HITS + n * min(value, 1 - value))
    independent = independent ** (1 - weight) * assumed**weight
    # The variance of independent cases is known; what is above it is as sure as its blocks make it.
    excess = max(0.0, 1 - binomial / variance) ** 2 if variance > 0 else 0.0
    df = 1 / ((1 - excess) / (n_held - 1) + excess / degrees_of_freedom(spread))
    independent *= min(1.0, (_quantile(max(n - 1, 1)) / _quantile(df)) ** 2)
    hits, misses = value * independent, (1 - value) * independent
    low = betaincinv(hits, misses + 1, 0.025) if hits > 0 else 0.0
    high = betaincinv(hits + 1, misses, 0.975) if misses > 0 else 1.0
    return float(low), float(high)


def _quantile(df: np.ndarray | float) -> float:
    # As in scipy.stats, but importing that would take most of the time of a small job.
    return float(stdtrit(df, 0.975))


def estimate(
    name: str,
    value: float,
    without: np.ndarray,
    within: Range,
    cases: np.ndarray | None = None,
) -> dict:
    """The columns of an estimate: `name`, ci_low, ci_high and `WITHOUT`; see `interval`."""
    low, high = interval(value, without, within, cases)
    return {name: float(value), "ci_low": low, "ci_high": high, WITHOUT: without}


def given(value: float) -> dict:
    """The columns of a value that has no values without a block."""
    return {"value": float(value), "ci_low": np.nan, "ci_high": np.nan, WITHOUT: None}


def cases_of(blocks: np.ndarray, count: int) -> np.ndarray:
    """How many cases each of `count` blocks has, from the block of each case: `[count]`."""
    return np.bincount(blocks, minlength=count)


def sums_without(totals: np.ndarray, blocks: np.ndarray, count: int) -> np.ndarray:
    """For each block, the sum of `totals` `[n, ...]` over the rows of all others: `[count, ...]`.

    blocks: the block of each row, `[n]`, below `count`; or several blocks for each row, `[n, k]`,
    if it is to be left out with any of them.
    """
    rows, pair_blocks = once_each(blocks)
    by_block = np.zeros((count, *totals.shape[1:]))
    np.add.at(by_block, pair_blocks, totals[rows])
    return totals.sum(0) - by_block


def once_each(blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each pair of a row and a block of it once, from blocks `[n]` or `[n, k]`: rows and blocks,
    `[n_pairs]`."""
    several = np.sort(blocks[:, None] if blocks.ndim == 1 else blocks, axis=1)
    first = np.diff(several, axis=1, prepend=-1) > 0
    return np.nonzero(first)[0], several[first]


def sums(totals: np.ndarray, blocks: np.ndarray, count: int) -> np.ndarray:
    """The sum over all rows, then those of `sums_without`: `[1 + count, ...]`."""
    whole = totals.sum(axis=0, keepdims=True)
    return np.concatenate([whole, sums_without(totals, blocks, count)])


@overload
def ratio(parts: np.float64, wholes: int | np.integer) -> np.float64: ...
@overload
def ratio(parts: np.ndarray | np.float64, wholes: np.ndarray) -> np.ndarray: ...
def ratio(parts, wholes):
    """parts / wholes; NaN where wholes are 0."""
    return parts / np.where(wholes == 0, np.nan, wholes)  # parts may be 0 but for rounding


def means(values: np.ndarray, blocks: np.ndarray, count: int) -> np.ndarray:
    """The mean of values `[n]`, then without each block, `[1 + count]`; arguments as in `sums`."""
    return ratio(sums(values, blocks, count), sums(np.ones(len(values)), blocks, count))
