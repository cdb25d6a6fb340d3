"""How often a verdict is wrong, and how often a true claim is found, in simulated studies.

A simulated study has the runs and documents of the real one. Its values are a known truth plus the
noise of other documents and other runs. The noise is as correlated between the parts of a claim as
in the real study, and runs vary as much as inference assumes. It is judged like the real study.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2

from bottomup.claims.claim import Claim
from bottomup.claims.finding import Decided, Finding, Replicates, decided
from bottomup.claims.inference import (
    ENOUGH,
    MOST_RUNS,
    Evidence,
    Prior,
    variance_of_a_run,
)
from bottomup.claims.tables import N_DRAWS, TEXT
from bottomup.claims.until import enough_of_all
from bottomup.claims.words import LEVEL
from bottomup.core.seeds import generator

COLUMNS = [
    *("claim", "paper", "runs", "decided_if_nothing_is_true", "reproduced_if_as_published"),
    *("contradicted_if_reversed", "runs_for_80_percent", "text_for_80_percent", "reproduced_there"),
]


def calibrate(
    findings: Mapping[str, Finding],
    published: Mapping[str, Finding],
    priors: Mapping[str, Prior],
    n_studies: int,
    seed: int,
) -> pd.DataFrame:
    """A row for each measured claim, with `COLUMNS`; shares of `n_studies` simulated studies.

    findings: those of the study; published: those of the published curves. Each verdict is on one
    claim alone. "Nothing is true" is the worst of three cases: no part of the claim holds; one part
    does not hold and the others are as published; all are as published and training adds nothing.
    Initial models are as measured, since none are published.
    """
    rows = []
    for name, finding in findings.items():
        known = published.get(name)
        truth = Truth.of(finding.claim, finding, known)
        prior, rng = priors[name], generator(seed, "calibration", name)
        simulated = Simulation(finding, prior, n_studies, rng)
        nothing = max(_decided(simulated.judged(null)) for null in truth.nothing(finding))
        runs, text, share = _enough(finding, prior, truth, n_studies, rng)
        rows.append(
            [
                *(name, finding.claim.paper, finding.parts.n_runs, nothing),
                np.mean(simulated.judged(truth).p.holds <= LEVEL / 2),
                np.mean(simulated.judged(truth.reversed()).p.contradicted <= LEVEL / 2),
                *(runs, text, share),
            ]
        )
    return pd.DataFrame(rows, columns=COLUMNS).astype({"runs_for_80_percent": "Int64"})


def _enough(
    finding: Finding, prior: Prior, truth: "Truth", n_studies: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """The runs and the text with which 80 % of studies reproduce the claim, and the share of
    studies that then do; NaN if no number of runs is enough."""
    wanted = truth.enough(finding, prior)
    if wanted is None:
        return np.nan, np.nan, np.nan
    # The formula ignores the correlation of parts and the spread of variances.
    runs, text = wanted
    runs = max(runs, 3 if finding.claim.across_seeds else 2)  # two runs make one pair
    larger = [(more, text) for more in range(runs, MOST_RUNS)]
    larger += [(MOST_RUNS, text * factor) for factor in (1, 1.25, 1.5, 2, 3)]
    for more, of_text in larger:
        judged = Simulation(finding, prior, n_studies, rng, more, of_text).judged(truth)
        share = float(np.mean(judged.p.holds <= LEVEL / 2))
        if share >= ENOUGH:
            return more, of_text, share
    return np.nan, np.nan, np.nan


def _decided(judged: Decided) -> float:
    return float(np.mean(judged.p.side <= LEVEL))


@dataclass(frozen=True)
class Truth:
    """The truth in a simulated study: the parts of a claim, the statistic less that of the initial
    models, and the parts of the condition."""

    parts: np.ndarray
    added: float
    condition: np.ndarray

    @classmethod
    def of(cls, claim: Claim, finding: Finding, published: Finding | None) -> "Truth":
        """The truth as published. If the parts are not published, each is as large as the published
        statistic; parts of a condition in another unit are of the size of this unit."""

        def known(
            measured: Replicates | None, theirs: Replicates | None, size: float
        ) -> np.ndarray:
            n_parts = len(measured.whole) if measured else 0
            if theirs and len(theirs.whole) == n_parts:
                return theirs.whole[:, 0]
            return np.full(n_parts, size)

        theirs = (published.replicates, published.condition) if published else (None, None)
        size = claim.published if claim.where_size is None else claim.where_size
        parts = known(finding.replicates, theirs[0], claim.published)
        condition = known(finding.condition, theirs[1], size)
        extreme = claim.extreme
        initial = finding.before if finding.difference else None
        before = extreme(initial.whole[:, 0]) if initial else 0.0
        return cls(parts, extreme(parts) - before, condition)

    def reversed(self) -> "Truth":
        """The opposite truth: all parts are negative, and training takes away from them."""
        return replace(self, parts=-np.abs(self.parts), added=-abs(self.added))

    def nothing(self, finding: Finding) -> Iterator["Truth"]:
        """The cases in which nothing is true, see `calibrate`."""
        yield replace(self, parts=np.zeros_like(self.parts), added=0.0)
        if finding.difference:
            yield replace(self, added=0.0)
        if not finding.claim.one_of:
            weakest = np.arange(len(self.parts)) == self.parts.argmin()
            yield replace(self, parts=np.where(weakest, 0.0, self.parts), added=0.0)

    def enough(self, finding: Finding, prior: Prior) -> tuple[int, float] | None:
        """See `until.enough_of_all`."""
        parts, added, condition = replace(finding.parts, values=self.parts), finding.added, None
        if added:
            added = replace(added, values=np.array([self.added]))
        if finding.condition:
            known = finding.condition.evidence(finding.blocks)
            condition = replace(known, values=self.condition)
        return enough_of_all(finding.claim, prior, parts, added, condition)


class Simulation:
    """Studies with the noise of a real one.

    n_runs: their number of runs. text: their number of documents over that of the real one. By
    default both are as in the real one.
    """

    def __init__(
        self,
        finding: Finding,
        prior: Prior,
        n_studies: int,
        rng: np.random.Generator,
        n_runs: int | None = None,
        text: float = 1.0,
    ):
        self.finding, self.prior, self.n_studies = finding, prior, n_studies
        self.n_runs, self.text, self.rng = n_runs, text, rng

    def judged(self, truth: Truth) -> Decided:
        """Decisions on each study."""
        finding, difference = self.finding, self.finding.difference
        of_parts, of_added, n = finding.parts, finding.added, len(truth.parts)
        added = None
        if difference and of_added and difference.seeds == finding.replicates.seeds:
            values = np.append(truth.parts, truth.added)
            both = self.evidence([finding.replicates, difference], [of_parts, of_added], values)
            parts, added = _columns(both, slice(n)), _columns(both, slice(n, None))
        else:
            parts = self.evidence([finding.replicates], [of_parts], truth.parts)
            if difference and of_added:  # fewer initial models than runs
                added = self.evidence([difference], [of_added], np.array([truth.added]))
        condition = None
        if finding.condition:
            known = finding.condition.evidence(finding.blocks)
            condition = self.evidence([finding.condition], [known], truth.condition)
        judged = decided(finding.claim, self.prior, parts, added, condition)
        as_it_is = self.n_runs is None
        return judged.in_vain() if as_it_is and finding.unrepeated else judged

    def evidence(
        self, replicates: list[Replicates], evidence: list[Evidence], truth: np.ndarray
    ) -> Evidence:
        """The evidence of each study, arrays `[n_studies, parts]`."""
        n_runs = self.n_runs or evidence[0].n_runs
        whole = np.concatenate([part.whole for part in replicates])
        text = (whole[:, TEXT] - whole[:, :1]) / np.sqrt(self.text)
        mixed = self.rng.standard_normal((self.n_studies, N_DRAWS)) / np.sqrt(N_DRAWS)
        of_text = mixed @ (text - text.mean(1, keepdims=True)).T
        run = np.concatenate([variance_of_a_run(part, self.prior) for part in evidence])
        without = np.concatenate([part.without for part in replicates], axis=1)
        runs = self.runs(without, run, n_runs)
        df = np.concatenate([part.text_df for part in evidence])
        # One draw for all parts of a study, since they share its documents.
        spread = chi2.ppf(self.rng.random((self.n_studies, 1)), df) / df
        return Evidence(
            values=truth + of_text + runs.mean(0),
            text=(text**2).mean(1) * spread,
            noise=np.concatenate([part.noise * part.n_runs / n_runs for part in evidence]),
            run=runs.var(0, ddof=1) if len(runs) > 1 else np.full_like(of_text, np.nan),
            n_runs=n_runs,
            text_df=df,
        )

    def runs(self, without: np.ndarray, variance: np.ndarray, n_runs: int) -> np.ndarray:
        """How far runs are from the truth, `[n_runs, n_studies, parts]`: random mixtures of the
        deviations of the real runs, scaled to the variance of each part. With a single real run,
        all parts deviate alike."""
        deviations = without - without.mean(0) if len(without) else np.zeros((1, len(variance)))
        size = np.sqrt((deviations**2).sum(0))
        still = size == 0
        deviations = np.where(still, 1 / np.sqrt(len(deviations)), deviations)
        unit = deviations / np.where(still, 1.0, size)
        mixed = self.rng.standard_normal((n_runs, self.n_studies, len(unit)))
        return mixed @ unit * np.sqrt(variance)


def _columns(evidence: Evidence, some: slice) -> Evidence:
    """The evidence on some of the parts."""
    arrays: dict[str, Any] = {
        name: value[..., some] if isinstance(value, np.ndarray) else value
        for name, value in vars(evidence).items()
    }
    return Evidence(**arrays)
