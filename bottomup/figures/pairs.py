"""Pairs of runs, compared layer by layer, for the figures that show them."""

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

import pandas as pd

from bottomup.core.names import half, objective_and_half
from bottomup.figures import layout, style
from bottomup.figures.means import less
from bottomup.measures.jackknife import Range

RUNS = ["objective_a", "seed_a", "objective_b", "seed_b"]
PAPER_PAIRS = ["mt-mlm", "lm-mt", "lm-mlm"]
MOST = 8  # that one can follow in a panel


def named(measured: pd.DataFrame) -> pd.DataFrame:
    """The rows by layer (`x`), with the name of their pair (`series`)."""
    rows = measured.rename(columns={"layer": "x"})
    series = [_series(a, b) for a, b in zip(rows["objective_a"], rows["objective_b"], strict=True)]
    return rows.assign(series=series)


def _series(a: str, b: str) -> str:
    return f"{b}-{a}" if f"{b}-{a}" in PAPER_PAIRS else f"{a}-{b}"


def look(series: str) -> style.Look:
    return style.pair(*series.split("-"))


def looks(series: pd.Series) -> dict[str, style.Look]:
    """The look of each pair: the paper's pairs, others, two seeds, two halves."""
    return {pair: look(pair) for pair in _ordered(set(series))}


def in_panels(series: Iterable[str]) -> list[list[str]]:
    """Pairs in as few groups as one can follow, as equal in number as can be."""
    names = list(series)
    size = math.ceil(len(names) / math.ceil(len(names) / MOST))
    return layout.in_rows(names, size)


def _ordered(series: set[str]) -> list[str]:
    names = {name for pair in series for name in pair.split("-")}
    objectives = style.ordered(objective_and_half(name)[0] for name in names)
    seeds = [f"{name}-{name}" for name in objectives]
    halves = [f"{half(name, 1)}-{half(name, 2)}" for name in objectives]
    others = sorted(series - {*PAPER_PAIRS, *seeds, *halves}, key=style.by_number)
    return [pair for pair in [*PAPER_PAIRS, *others, *seeds, *halves] if pair in series]


def differences(rows: pd.DataFrame, by: list[str], within: Range) -> pd.DataFrame:
    """The first model of each pair less the second, of the same seed and group `by`; rows as in
    `means.over_runs`, `series` names the pair. within: what a value of `rows` can be.

    None of two models of other depths: of these one layer is the top, and the other is not.
    """
    parts = []
    for pair in _differing(set(rows["series"])):
        a, b = (rows[rows["series"] == name] for name in pair.split("-"))
        if {*a["x"]} == {*b["x"]}:
            parts.append(less(a, b, [*by, "seed"], within).assign(series=pair))
    return pd.concat(parts) if parts else rows.head(0)


def published_differences(curves: pd.DataFrame) -> pd.DataFrame:
    """The published curve of the first model of each pair less that of the second, where both have
    a point."""
    parts = []
    for pair in _differing(set(curves["series"])):
        a, b = (curves[curves["series"] == name] for name in pair.split("-"))
        parts.append(published_less(a, b).assign(series=pair))
    return pd.concat(parts) if parts else curves.head(0)


def published_less(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """The points of published curves less those of another at the same place."""
    both = a.merge(b[["panel", "x", "y"]], on=["panel", "x"], suffixes=("", "_other"))
    return both.assign(y=both["y"] - both["y_other"])


def _differing(names: set[str]) -> list[str]:
    """The paper's pairs of these models; without any, those of the first trained ones."""
    pairs = [pair for pair in PAPER_PAIRS if set(pair.split("-")) <= names]
    return pairs or ["-".join(pair) for pair in combinations(style.compared(names), 2)]


def less_looks(series: pd.Series) -> dict[str, style.Look]:
    """The looks of differences, named as such."""
    return {pair: _less(*pair.split("-")) for pair in _ordered(set(series))}


def _less(a: str, b: str) -> style.Look:
    label = f"{style.objective(a).label} less {style.objective(b).label}"
    return replace(style.pair(a, b), label=label)
