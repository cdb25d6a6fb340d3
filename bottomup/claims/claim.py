"""What a claim is, and how its verdict follows from tables: never by hand."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pandas as pd

from bottomup.claims.estimate import Estimate, over_seeds

Tables = dict[str, pd.DataFrame]

# An effect of less than this share of the published one counts as none.
MARGIN = 0.05
COLUMNS = [
    *("claim", "paper", "statement", "section", "statistic", "value", "ci_low", "ci_high"),
    *("margin", "verdict", "seeds", "contradicted_if", "rank_correlation", "curves"),
    "undecided_until",
]


class NotMeasuredError(Exception):
    """What a statistic needs and a study has not measured."""


@dataclass(frozen=True)
class Claim:
    """One checkable sentence of a paper.

    The statistic is oriented so that the claim says: it is above `margin`. `measure` computes it
    from the tables of one seed, or raises `NotMeasuredError`. `published` is its value on the
    published curves. `curves` are those that the claim is about, each named by what tells it from
    others: its figure, panel or series, or several of these. `more` of what narrows its interval.
    """

    name: str
    paper: str
    statement: str
    section: str
    statistic: str
    measure: Callable[[Tables], Estimate]
    published: float
    contradicted_if: str
    undecided_until: str
    curves: tuple[tuple[str, ...], ...] = ()
    more: str = "held-out text"

    @property
    def margin(self) -> float:
        return MARGIN * self.published


def collect(claims: list[Claim], paper: str) -> Callable:
    """A decorator: the claim whose name and `measure` are a function's, added to `claims`."""

    def claim(**data) -> Callable:
        def add(measure: Callable[[Tables], Estimate]) -> Callable[[Tables], Estimate]:
            claims.append(Claim(name=measure.__name__, paper=paper, measure=measure, **data))
            return measure

        return add

    return claim


def verdict(estimate: Estimate, margin: float) -> str:
    """`reproduced` or `contradicted` where the whole interval says so, else `undecided`."""
    if estimate.low > margin:
        return "reproduced"
    if estimate.high < -margin:
        return "contradicted"
    return "undecided"


def judge(claims: Iterable[Claim], tables: Tables, correlations: pd.DataFrame) -> pd.DataFrame:
    """A row for each claim, with `COLUMNS`.

    `correlations`: of our curves with the published ones, as from `comparison.correlate`; a claim
    has the mean of those of its curves. What was not measured leaves a claim undecided.
    """
    by_seed = {seed: of_seed(tables, seed) for seed in seeds(tables)}
    rows = [_row(claim, by_seed) | _agreement(claim, correlations) for claim in claims]
    return pd.DataFrame(rows, columns=COLUMNS)


def seeds(tables: Tables) -> list[int]:
    """All seeds in the tables."""
    columns = ("seed", "seed_a", "seed_b")
    found = [table[name] for table in tables.values() for name in columns if name in table]
    return sorted({int(seed) for column in found for seed in column})


def of_seed(tables: Tables, seed: int) -> Tables:
    """Rows of one seed; of pairs of runs those with a run of this seed."""
    return {name: table[_is_of(table, seed)] for name, table in tables.items()}


def _is_of(table: pd.DataFrame, seed: int) -> pd.Series:
    columns = [name for name in ("seed", "seed_a", "seed_b") if name in table]
    return (table[columns] == seed).any(axis="columns")


def _row(claim: Claim, by_seed: dict[int, Tables]) -> dict:
    evidence, missing = {}, "every run"
    for seed, tables in by_seed.items():
        try:
            evidence[seed] = claim.measure(tables)
        except NotMeasuredError as error:
            missing = str(error)
    parts = list(evidence.values())
    estimate = over_seeds(parts) if parts else Estimate(math.nan, math.nan, math.nan)
    found = verdict(estimate, claim.margin)
    until = _until(claim, parts) if parts else f"the study measures it ({missing} is missing)"
    return {
        "claim": claim.name,
        **{name: getattr(claim, name) for name in ("paper", "statement", "section", "statistic")},
        **{"value": estimate.value, "ci_low": estimate.low, "ci_high": estimate.high},
        **{"margin": claim.margin, "verdict": found, "seeds": " ".join(map(str, evidence))},
        "contradicted_if": claim.contradicted_if,
        "undecided_until": until if found == "undecided" else "",
    }


def _until(claim: Claim, parts: list[Estimate]) -> str:
    text = more_text(parts, claim.margin)
    if not math.isfinite(text):
        return claim.undecided_until
    times = math.ceil(10 * text) / 10
    return f"{times:g} times the {claim.more}, if the values stay; or {claim.undecided_until}"


def more_text(parts: Iterable[Estimate], margin: float) -> float:
    """How many times the text would decide if each seed's value stayed: infinite where the values
    themselves are within the margin or disagree. Half-widths fall with the text's square root."""
    above = [(part.value - margin, part.value - part.low) for part in parts]
    below = [(-part.value - margin, part.high - part.value) for part in parts]
    for sides in (above, below):
        if all(room > 0 for room, _ in sides):
            return max((half_width / room) ** 2 for room, half_width in sides)
    return math.inf


def _agreement(claim: Claim, correlations: pd.DataFrame) -> dict:
    found = {names: _correlations(names, correlations) for names in claim.curves}
    values = pd.Series([value for part in found.values() for value in part], dtype=float)
    known = [", ".join(names) for names, part in found.items() if part]
    return {"rank_correlation": values.mean(), "curves": "; ".join(known)}


def _correlations(names: tuple[str, ...], correlations: pd.DataFrame) -> list[float]:
    return [
        row.rank_correlation
        for row in correlations.itertuples()
        if set(names) <= {row.figure, row.panel, row.series}
    ]
