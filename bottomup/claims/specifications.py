"""Each claim under every choice of analysis that a study's tables allow: a specification curve
(Simonsohn, Simmons, Nelson 2020, "Specification curve analysis").

A specification is an estimator of what the tables hold, the share of the layers that stands for
bottom and for top, and the seeds that are read. Every estimator is combined with every share. Each
seed is also left out once, with the estimator and the share of the verdict, if two others are left.
Specifications that give a claim the same numbers count as one: the choice does not concern it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from bottomup.claims.claim import Claim
from bottomup.claims.curves import parts_of_layers
from bottomup.claims.finding import Finding, find_all, priors
from bottomup.claims.tables import Tables, of_seeds, seeds
from bottomup.claims.words import ALL, AS_JUDGED, THIRDS

COLUMNS = [
    *("claim", "estimator", "layers", "seeds"),
    *("value", "ci_low", "ci_high", "verdict"),
]
PARTS_OF_LAYERS = {THIRDS: 3, "halves": 2, "quarters": 4}


@dataclass(frozen=True)
class Specification:
    """One choice of estimator, layers and seeds; the claims that it concerns, and their tables."""

    estimator: str
    layers: str
    seeds: str
    claims: Sequence[Claim]
    tables: Tables


def specify(
    claims: Sequence[Claim],
    tables: Tables,
    initial: Mapping[str, str],
    others: Mapping[str, tuple[str, Tables]],
) -> pd.DataFrame:
    """A row, with `COLUMNS`, for each claim and specification; the one that a claim is judged by
    comes first. A claim that is not measured under that one has no rows.

    initial: see `find_all`. others: for the name of each other estimator, the table that it changes
    and the tables with it. The verdict is the one on the claim alone.
    """
    rows, known = [], set()
    judged = None
    for one in _specifications(claims, tables, others):
        with parts_of_layers(PARTS_OF_LAYERS[one.layers]):
            findings, _ = find_all(one.claims, one.tables, initial)
        prior_of = priors(findings)
        if judged is None:
            judged = findings.keys()
        for name in findings.keys() & judged:
            finding = findings[name]
            # A single run that is left has no spread.
            alone = one.seeds != ALL and finding.parts.n_runs == 1
            if alone or (numbers := (name, *_numbers(finding))) in known:
                continue
            known.add(numbers)
            decisions = finding.decided(prior_of[name])
            own = decisions.own.value, decisions.own.low, decisions.own.high
            rows.append([name, one.estimator, one.layers, one.seeds, *own, decisions.p.alone])
    places = {claim.name: place for place, claim in enumerate(claims)}
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table.sort_values("claim", key=lambda name: name.map(places), kind="stable")


def _specifications(
    claims: Sequence[Claim], tables: Tables, others: Mapping[str, tuple[str, Tables]]
) -> Iterator[Specification]:
    estimators = {AS_JUDGED: (claims, tables)}
    for name, (measure, with_it) in others.items():
        estimators[name] = [claim for claim in claims if claim.measure == measure], with_it
    for name, of in estimators.items():
        for layers in PARTS_OF_LAYERS:
            yield Specification(name, layers, ALL, *of)
    every = seeds(tables)
    for seed in every if len(every) > 2 else []:
        left = of_seeds(tables, {*every} - {seed})
        yield Specification(AS_JUDGED, THIRDS, f"without seed {seed}", claims, left)


def _numbers(finding: Finding) -> list[tuple]:
    """All that a verdict on a claim rests on, to tell whether a choice concerns it."""
    parts = finding.replicates, finding.before, finding.condition
    return [(tuple(part.seeds), part.whole.tobytes()) for part in parts if part]
