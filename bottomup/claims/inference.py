"""From values, draws and runs to intervals and verdicts.

The model: a run is drawn from all runs that other seeds would give, and documents are drawn from
all that could have been held out; every run reads the same documents. With S runs, the variance of
a mean is

    v = v_text + v_runs / S,

where v_text comes from leaving out blocks of documents and v_runs from leaving out seeds. Two
degrees of freedom say little about v_runs. But many statistics of one measure together say how
large it usually is. A smaller estimate is moderated, that is, drawn towards the usual variance
(Smyth 2004, "Linear models and empirical Bayes methods for assessing differential expression in
microarray experiments", equations 3 to 8); this also tells what one run alone would hide. A larger
estimate stays, with the degrees of freedom of its own runs alone: the prior knows nothing of runs
that vary more than is usual. Student's t has the degrees of freedom of Welch and Satterthwaite, but
at most `MOST_DF` for each run beyond the first; of two runs without a usual variance, those of the
runs alone.

Variances are in units of the published effect (`Prior.of`): statistics of one table may be shares,
correlations or tokens, and only as parts of what is published do their variances compare.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, polygamma
from scipy.stats import nct as shifted_student
from scipy.stats import t as student

from bottomup.claims.tables import NOISE, TEXT, Blocks, degrees_of_freedom
from bottomup.claims.words import LEVEL

# The usual variance counts as much as three runs of one's own. More would make runs that vary more
# than usual look certain (tests/claims/test_inference.py has the error rates).
MOST_PRIOR_DF = 2.0
# Where runs look alike by chance only the text's degrees would count, and p-values would be too
# small in the far tail, where a correction for many claims reads them (docs/decisions.md).
MOST_DF = 4
ENOUGH = 0.8  # the power of a study that is large enough
# Nobody trains more than this to decide a claim.
MOST_RUNS = 20


@dataclass(frozen=True)
class Evidence:
    """What is known of the parts of a claim: arrays `[..., parts]`.

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

    @classmethod
    def of(cls, draws: np.ndarray, without_seed: np.ndarray, blocks: Blocks) -> "Evidence":
        """draws: `[parts, 1 + 2 * N_DRAWS]`, as from `tables`. without_seed: `[seeds, parts]`, the
        values without each seed; none for a single seed. blocks: those of the
        tables."""
        n = max(1, len(without_seed))
        run = np.full(len(draws), np.nan)
        if n > 1:
            # S times the jackknife's variance of the mean.
            run = (n - 1) * ((without_seed - without_seed.mean(0)) ** 2).sum(0)
        text, noise = (mean_square(draws, some) for some in (TEXT, NOISE))
        return cls(draws[:, 0], text, noise, run, n, degrees_of_freedom(draws, blocks))


def mean_square(draws: np.ndarray, some: slice) -> np.ndarray:
    """The mean square of draws' deviations from the value `[parts, 0]`. If draws are elsewhere on
    average, like a count above a threshold under noise, the value may be as far off."""
    return ((draws[:, some] - draws[:, :1]) ** 2).mean(axis=1)


@dataclass(frozen=True)
class Prior:
    """How much runs usually vary: a scaled inverse chi-squared distribution."""

    variance: float
    df: float

    def of(self, unit: float) -> "Prior":
        """The same for statistics in this unit, from a prior in units of the published effect."""
        return Prior(self.variance * unit**2, self.df)


NO_PRIOR = Prior(0.0, 0.0)


def usual(evidences: Sequence[Evidence]) -> Prior:
    """The prior for the statistics of one measure, from the moments of log variances (Smyth
    2004)."""
    known = [part for part in evidences if part.n_runs > 1]
    variances = np.concatenate([part.run for part in known]) if known else np.array([])
    degrees = np.concatenate([np.full(len(part.run), part.n_runs - 1.0) for part in known] or [[]])
    positive = np.isfinite(variances) & (variances > 0)
    variances, degrees = variances[positive], degrees[positive]
    if len(variances) < 3:
        return NO_PRIOR
    logs = np.log(variances) - digamma(degrees / 2) + np.log(degrees / 2)
    excess = logs.var(ddof=1) - polygamma(1, degrees / 2).mean()
    df = min(2 * _inverse_trigamma(excess), MOST_PRIOR_DF) if excess > 0 else MOST_PRIOR_DF
    return Prior(float(np.exp(logs.mean() + digamma(df / 2) - np.log(df / 2))), df)


def _inverse_trigamma(value: float) -> float:
    """x with trigamma(x) = value, by Newton's method on 1 / trigamma (Smyth 2004, appendix)."""
    x = 0.5 + 1 / value
    for _ in range(50):
        trigamma = polygamma(1, x)
        x += trigamma * (1 - trigamma / value) / polygamma(2, x)
    return float(x)


def errors(evidence: Evidence, prior: Prior) -> tuple[np.ndarray, np.ndarray]:
    """The standard error of each value, and its degrees of freedom."""
    of_runs = variance_of_a_run(evidence, prior) / evidence.n_runs
    variance = evidence.text + of_runs
    if evidence.n_runs == 1 and not prior.df:
        # With one run and no text, nothing says how far another run would be.
        variance = np.where(evidence.text > 0, variance, np.nan)
    runs_df = degrees_of_runs(evidence, prior)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = variance**2 / (evidence.text**2 / evidence.text_df + of_runs**2 / runs_df)
    if evidence.n_runs > 1:
        df = np.minimum(df, np.where(runs_df < 2, runs_df, MOST_DF * (evidence.n_runs - 1)))
    return np.sqrt(variance), np.where(variance > 0, df, runs_df)


def degrees_of_runs(evidence: Evidence, prior: Prior) -> np.ndarray:
    """The degrees of freedom of a run's variance: with those of the prior where it is moderated."""
    own_df = evidence.n_runs - 1
    if not own_df or not prior.df:
        return np.full_like(evidence.run, max(own_df + prior.df, 1))
    return np.where(evidence.run > prior.variance, own_df, own_df + prior.df)


def variance_of_a_run(evidence: Evidence, prior: Prior) -> np.ndarray:
    """The moderated variance of one run's value: at least that of the draws in measuring it."""
    own_df = evidence.n_runs - 1
    own = np.nan_to_num(evidence.run)
    moderated = prior.df * prior.variance + own_df * own
    drawn = evidence.noise * evidence.n_runs
    return np.maximum(np.maximum(own, moderated / max(prior.df + own_df, 1)), drawn)


@dataclass(frozen=True)
class Decision:
    """The value of a claim's statistic with its 95 % interval, and one-sided p-values that it is
    above the margin or below minus the margin. Arrays `[...]`."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    above: np.ndarray
    below: np.ndarray


def decide(evidence: Evidence, prior: Prior, margin: float, one_of: bool = False) -> Decision:
    """All parts must be above the margin or, with `one_of`, one of them.

    All are shown to be above if each is (an intersection-union test, Berger 1982, which needs no
    correction). One of several is shown to be above if it is at a level divided by their number
    (Bonferroni), since the best of many looks better than it is. The other direction follows: not
    all are above if one is below.
    """
    if one_of:
        mirrored = Evidence(**(vars(evidence) | {"values": -evidence.values}))
        turned = decide(mirrored, prior, margin)
        return Decision(-turned.value, -turned.high, -turned.low, turned.below, turned.above)
    values, n = evidence.values, evidence.values.shape[-1]
    error, df = errors(evidence, prior)
    below_each = values - student.ppf(1 - LEVEL / 2, df) * error
    above_each = values + student.ppf(1 - LEVEL / 2 / n, df) * error
    return Decision(
        value=values.min(-1),
        low=below_each.min(-1),
        high=above_each.min(-1),
        above=_p(values - margin, error, df).max(-1),
        below=np.minimum(1.0, n * _p(-values - margin, error, df).min(-1)),
    )


def _p(room: np.ndarray, error: np.ndarray, df: np.ndarray) -> np.ndarray:
    """One-sided p-values of "the true room is not positive"; 1 where nothing is known. A finite
    sample without any spread says nothing of how far another would be."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 0, room / error, np.nan)
    return np.where(np.isnan(t), 1.0, student.sf(t, df))


def power(
    evidence: Evidence, prior: Prior, size: float, margin: float, one_of: bool = False
) -> float:
    """The chance, 0 to 1, that such a study shows a part of this size to be above the margin; of
    the part that is known worst. NaN where an error is unknown.

    It is that of a claim asked alone: Student's t, shifted by the room in standard errors.
    """
    error, df = errors(evidence, prior)
    level = LEVEL / 2 / (evidence.values.shape[-1] if one_of else 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = (size - margin) / np.where(error > 0, error, np.nan)
    return float(shifted_student.sf(student.ppf(1 - level, df), df, shift).min())


def enough(
    evidence: Evidence, prior: Prior, margin: float, one_of: bool = False
) -> tuple[int, float] | None:
    """How many runs, and how many times the text, would decide with a power of 80 % if the values
    stayed. None if no number would: a part lies within the margin and no other below it (with
    `one_of`, above it).

    The fewest runs with the text as it is, up to `MOST_RUNS`; else the least text with that many.
    They are enough even if the runs turn out to vary a little more than is usual.
    """
    values = -evidence.values if one_of else evidence.values
    below = values < -margin
    room = np.abs(values) - margin
    decisive = below if below.any() else np.ones_like(below)
    if not (room[decisive] > 0).all():
        return None
    run = variance_of_a_run(evidence, prior)
    for n_runs in range(2, MOST_RUNS + 1):
        needed = student.ppf(1 - LEVEL / 2, n_runs - 1) + student.ppf(ENOUGH, n_runs)
        left = (room / needed) ** 2 - run / n_runs  # for the text
        if (left >= evidence.text)[decisive].all():
            return n_runs, 1.0
    if not (left > 0)[decisive].all():
        return None
    return MOST_RUNS, float((evidence.text / left)[decisive].max())
