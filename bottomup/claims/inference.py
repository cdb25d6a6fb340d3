"""From values, draws and runs to intervals and verdicts.

The model is that of `bottomup.measures.over_runs`. Three runs, with two degrees of freedom, say
little about the variance of runs. So a prior says how large it usually is, from many statistics of
one measure.

The prior is in units of the published effect (`Prior.of`): statistics of one table may be shares,
correlations or tokens, and their variances compare only as shares of what is published.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, polygamma
from scipy.stats import nct as shifted_student
from scipy.stats import t as student

from bottomup.claims.tables import NOISE, TEXT, Blocks, degrees_of_freedom
from bottomup.claims.words import LEVEL
from bottomup.measures.jackknife import Range
from bottomup.measures.over_runs import (
    NO_PRIOR,
    Estimates,
    Prior,
    beyond_rounding,
    errors,
    variance_of_a_run,
    variance_of_runs,
)

# The prior counts at most as much as three runs of the claim's own. With more, claims whose runs
# vary more than usual would look certain (tests/claims/test_inference.py has the error rates).
MOST_PRIOR_DF = 2.0
ENOUGH = 0.8  # the power of a study that is large enough
# Nobody trains more than this to decide a claim.
MOST_RUNS = 20


class Evidence(Estimates):
    """What is known of the parts of a claim: arrays `[..., parts]`."""

    @classmethod
    def of(cls, draws: np.ndarray, without_seed: np.ndarray, blocks: Blocks) -> "Evidence":
        """draws: `[parts, 1 + 2 * N_DRAWS]`, as from `tables`. without_seed: `[seeds, parts]`, the
        values without each seed; none for a single seed. blocks: those of the tables."""
        text, noise = (mean_square(draws, some) for some in (TEXT, NOISE))
        return cls(
            draws[:, 0],
            text,
            noise,
            variance_of_runs(without_seed),
            max(1, len(without_seed)),
            degrees_of_freedom(draws, blocks),
        )


def mean_square(draws: np.ndarray, some: slice) -> np.ndarray:
    """The mean square of the deviations of draws from the value `draws[:, 0]`: `[parts]`.

    It includes their bias: if draws are elsewhere on average, such as a count above a threshold
    under noise, the value may be as far from the truth.
    """
    return ((draws[:, some] - draws[:, :1]) ** 2).mean(axis=1)


def pooled_prior(evidences: Sequence[Evidence]) -> Prior:
    """The prior for the statistics of one measure, from the moments of log variances (Smyth
    2004)."""
    known = [part for part in evidences if part.n_runs > 1]
    if not known:
        return NO_PRIOR
    variances = np.concatenate([part.run for part in known])
    degrees = np.concatenate([np.full(len(part.run), part.n_runs - 1.0) for part in known])
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


@dataclass(frozen=True)
class Decision:
    """The value of a claim's statistic, with one-sided p-values that it is above the margin or
    below minus the margin. `ends` computes its 95 % interval, which simulated studies do not need.
    Arrays `[...]`."""

    value: np.ndarray
    above: np.ndarray
    below: np.ndarray
    ends: Callable[[], tuple[np.ndarray, np.ndarray]]

    def within(self, known: Range) -> "Decision":
        """The same, with an interval that ends where the known range of the statistic does."""

        def ends() -> tuple[np.ndarray, np.ndarray]:
            low, high = self.ends()
            return np.clip(low, known.low, known.high), np.clip(high, known.low, known.high)

        return replace(self, ends=ends)

    @property
    def low(self) -> np.ndarray:
        return self.ends()[0]

    @property
    def high(self) -> np.ndarray:
        return self.ends()[1]


def decide(evidence: Evidence, prior: Prior, margin: float, one_of: bool = False) -> Decision:
    """Decide whether all parts are above the margin or, with `one_of`, whether one of them is.

    All are shown to be above if each is (an intersection-union test, Berger 1982, which needs no
    correction). One of several is shown to be above if it is at a level divided by their number
    (Bonferroni), since the best of many looks better than it is. The other direction follows: not
    all are above if one is below.
    """
    if one_of:
        mirrored = Evidence(**(vars(evidence) | {"values": -evidence.values}))
        turned = decide(mirrored, prior, margin)
        return Decision(
            value=-turned.value,
            above=turned.below,
            below=turned.above,
            ends=lambda: (-turned.high, -turned.low),
        )
    values, n = evidence.values, evidence.values.shape[-1]
    error, df = known_errors(evidence, prior)

    def each(level: float) -> np.ndarray:
        return student.ppf(1 - level, df) * error

    return Decision(
        value=values.min(-1),
        above=_p(values - margin, error, df).max(-1),
        below=np.minimum(1.0, n * _p(-values - margin, error, df).min(-1)),
        ends=lambda: (
            (values - each(LEVEL / 2)).min(-1),
            (values + each(LEVEL / 2 / n)).min(-1),
        ),
    )


def unknown_runs(evidence: Evidence, prior: Prior) -> bool:
    """Whether there is one run, and nothing tells how far a second one would be."""
    return evidence.n_runs == 1 and not prior.df


def known_errors(evidence: Evidence, prior: Prior) -> tuple[np.ndarray, np.ndarray]:
    """Standard errors and their degrees of freedom, as from `errors`. An error of 0, or of what
    rounding leaves of it, becomes NaN: a finite sample without spread does not tell how far another
    would be."""
    error, df = errors(evidence, prior)
    return np.where(beyond_rounding(error, evidence.values), error, np.nan), df


def _p(room: np.ndarray, error: np.ndarray, df: np.ndarray) -> np.ndarray:
    """One-sided p-values; the null hypothesis is that the true `room`, the distance to a margin, is
    not positive. 1 where nothing is known."""
    t = room / error
    return np.where(np.isnan(t), 1.0, student.sf(t, df))


def power(
    evidence: Evidence,
    prior: Prior,
    size: float | np.ndarray,
    margin: float,
    one_of: bool = False,
) -> float:
    """The chance, 0 to 1, that such a study shows a part of this size to be above the margin; the
    least over the parts. NaN where an error is unknown.

    It is without correction for other claims: that of Student's t, shifted by the distance to the
    margin in standard errors.
    """
    error, df = known_errors(evidence, prior)
    level = LEVEL / 2 / (evidence.values.shape[-1] if one_of else 1)
    shift = (size - margin) / error
    return float(shifted_student.sf(student.ppf(1 - level, df), df, shift).min())


def enough(
    evidence: Evidence, prior: Prior, margin: float, one_of: bool = False, level: float = LEVEL
) -> tuple[int, float] | None:
    """How many runs, and how many times the text, would decide with a power of 80 % if the values
    stayed. None if no number would: a part lies within the margin and no other below it (with
    `one_of`, above it), or the variance over text is not known.

    The fewest runs with the text as it is, up to `MOST_RUNS`; else the least text with that many.
    They are enough even if the runs turn out to vary a little more than is usual.
    """
    values = -evidence.values if one_of else evidence.values
    below = values < -margin
    room = np.abs(values) - margin
    decisive = below if below.any() else np.ones_like(below)
    if not (room[decisive] > 0).all() or np.isnan(evidence.text).any():
        return None
    run = variance_of_a_run(evidence, prior)
    for n_runs in range(2, MOST_RUNS + 1):
        needed = student.ppf(1 - level / 2, n_runs - 1) + student.ppf(ENOUGH, n_runs)
        left = (room / needed) ** 2 - run / n_runs  # the variance that the text may have
        if (left >= evidence.text)[decisive].all():
            return n_runs, 1.0
    if not (left > 0)[decisive].all():
        return None
    return MOST_RUNS, float((evidence.text / left)[decisive].max())
