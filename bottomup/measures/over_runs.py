"""How sure a mean over runs and documents is.

The model: a run is drawn from all runs that other seeds would give, and documents are drawn from
all that could have been held out; every run reads the same documents. With S runs, the variance of
a mean is

    v = v_text + v_runs / S,

where v_text comes from leaving out blocks of documents and v_runs from leaving out seeds. Student's
t has the degrees of freedom of Welch and Satterthwaite, but at most `MOST_DF` for each run beyond
the first. Two runs without a usual variance have those of the runs alone.

Claims also know how large v_runs usually is. A smaller estimate is moved towards the usual variance
(moderated; Smyth 2004, "Linear models and empirical Bayes methods for assessing differential
expression in microarray experiments", equations 3 to 8), so even a single run has an error. A
larger estimate stays, with the degrees of freedom of its own runs alone: the prior knows nothing of
runs that vary more than is usual. Figures have no usual variance, since the layers of one run vary
together: their many points are few runs.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from bottomup.measures import jackknife
from bottomup.measures.jackknife import Range

# Without it, only the text's degrees of freedom would count if runs look alike by chance. Then
# p-values would be too small in the far tail, where a correction for many claims reads them
# (docs/decisions.md).
MOST_DF = 4


@dataclass(frozen=True)
class Estimates:
    """Means over runs, and what is known of their errors: arrays `[...]`.

    text: the variance over other documents, and text_df its degrees of freedom. noise: the variance
    over other draws, such as of clusters. run: the variance of one run's value, NaN for a single
    run.
    """

    values: np.ndarray
    text: np.ndarray
    noise: np.ndarray
    run: np.ndarray
    n_runs: int
    text_df: np.ndarray


@dataclass(frozen=True)
class Prior:
    """How much runs usually vary: a scaled inverse chi-squared distribution."""

    variance: float
    df: float

    def of(self, unit: float) -> "Prior":
        """The same for statistics in this unit, from a prior in units of the published effect."""
        return Prior(self.variance * unit**2, self.df)


NO_PRIOR = Prior(0.0, 0.0)


def variance_of_runs(without_seed: np.ndarray) -> np.ndarray:
    """The variance of one run's value, from the means without each seed `[seeds, ...]`: as many
    times the jackknife's variance of the mean as there are seeds. 0 for what rounding leaves of
    equal runs. NaN for fewer than two."""
    n = len(without_seed)
    if n < 2:
        return np.full(without_seed.shape[1:], np.nan)
    mean = without_seed.mean(0)
    variance = (n - 1) * ((without_seed - mean) ** 2).sum(0)
    return np.where(beyond_rounding(np.sqrt(variance), mean), variance, 0.0)


def beyond_rounding(spread: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Whether a spread of these values is more than what rounding leaves of none."""
    return spread > jackknife.ROUNDING * np.maximum(1.0, np.abs(values))


def errors(estimates: Estimates, prior: Prior) -> tuple[np.ndarray, np.ndarray]:
    """The standard error of each value, and its degrees of freedom."""
    of_runs = variance_of_a_run(estimates, prior) / estimates.n_runs
    variance = estimates.text + of_runs
    if estimates.n_runs == 1 and not prior.df:
        # With one run and no text, nothing says how far another run would be.
        variance = np.where(estimates.text > 0, variance, np.nan)
    runs_df = degrees_of_runs(estimates, prior)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = variance**2 / (estimates.text**2 / estimates.text_df + of_runs**2 / runs_df)
    if estimates.n_runs > 1:
        df = np.minimum(df, np.where(runs_df < 2, runs_df, MOST_DF * (estimates.n_runs - 1)))
    return np.sqrt(variance), np.where(variance > 0, df, runs_df)


def degrees_of_runs(estimates: Estimates, prior: Prior) -> np.ndarray:
    """The degrees of freedom of a run's variance: with those of the prior where it is moderated."""
    own_df = estimates.n_runs - 1
    if not own_df or not prior.df:
        return np.full_like(estimates.run, own_df or prior.df or 1)
    return np.where(estimates.run > prior.variance, own_df, own_df + prior.df)


def variance_of_a_run(estimates: Estimates, prior: Prior) -> np.ndarray:
    """The moderated variance of one run's value: at least that of the draws in measuring it."""
    own_df = estimates.n_runs - 1
    own = estimates.run if own_df else np.zeros_like(estimates.run)
    moderated = (prior.df * prior.variance + own_df * own) / (prior.df + own_df or 1)
    return np.maximum(np.maximum(own, moderated), estimates.noise * estimates.n_runs)


def mean(
    values: np.ndarray, without: np.ndarray, noise: np.ndarray, seeds: np.ndarray
) -> Estimates:
    """The mean of the values of runs, or of pairs of runs.

    values: `[n]`. without: the same without each block of documents, `[n, n_blocks]`. noise: their
    standard errors due to other draws than that of the text, `[n]`. seeds: of each run, or of both
    runs of a pair, `[n, 1 or 2]`. If nothing is left without one of the seeds, nothing is known of
    other runs, and `n_runs` is 1.
    """
    apart = [values[(seeds != seed).all(axis=1)] for seed in np.unique(seeds)]
    left = [some.mean() for some in apart if len(some)]
    known = len(left) == len(apart)
    of_text = jackknife.deviations(values.mean(), without.mean(axis=0))
    return Estimates(
        values.mean(),
        (of_text**2).sum(),
        (noise**2).sum() / len(values) ** 2,
        variance_of_runs(np.array(left if known else [])),
        len(apart) if known else 1,
        jackknife.degrees_of_freedom(of_text),
    )


def interval(estimates: Estimates, within: Range) -> tuple[float, float]:
    """The 95 % interval of a mean, as far as its runs and documents tell; both ends are NaN where
    they do not. within: what the quantity can be; the interval ends there.

    Unlike that of a single run it is symmetric. Few runs make it wide, and on the scale of logits
    it would then reach from a share near 1 down to 0.
    """
    error, df = errors(estimates, NO_PRIOR)
    half_width = stdtrit(df, 0.975) * error
    if not beyond_rounding(half_width, estimates.values):
        return np.nan, np.nan
    low = max(float(estimates.values - half_width), within.low)
    high = min(float(estimates.values + half_width), within.high)
    return (low, high) if low < high else (np.nan, np.nan)


def without_blocks(values: pd.Series, arrays: pd.Series) -> np.ndarray:
    """The `arrays` of values without each block, a row each; NaN if there are none, or one block
    alone, and the spread is unknown.

    Of few occurrences the last blocks may hold none, and an array ends before them. Without these
    a value stays as it is.
    """
    lengths = [np.size(array) if np.ndim(array) else 0 for array in arrays]
    rows = np.full((len(arrays), max([1, *lengths])), np.nan)
    for row, value, array, length in zip(rows, values, arrays, lengths, strict=True):
        if length > 1 or length == len(row):
            row[:length], row[length:] = array, value
    return rows
