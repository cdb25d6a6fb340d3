"""What the heads of a layer attend to, by weight and by norm, and how spread their attention is.

Each point is the mean over the heads of a layer and over runs. Upper row of panels: by weight
(Clark et al. 2019); middle row: by norm (Kobayashi et al. 2020); lower row, by weight: entropy, the
most attended of the first positions, and repeated random tokens (Olsson et al. 2022), less what is
there where nothing repeats.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bottomup.figures import style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, join, points, table
from bottomup.measures import jackknife
from bottomup.measures.jackknife import WITHOUT, Range
from bottomup.measures.over_runs import without_blocks

NEEDED = [
    *("objective", "seed", "layer", "by", "quantity", "value", "ci_low", "ci_high", WITHOUT),
    *("uniform", "baseline", "n"),
]
ON_TEXT = {
    "special": "special tokens",
    "punctuation": "punctuation",
    "previous": "the previous token",
    "itself": "itself",
    "next": "the next token",
}
SPREAD = {"entropy_nats": "entropy", "position": "one of the first positions"}
REPEATED = {
    "duplicate": "the same token, earlier",
    "next_of_earlier": "the token after that",
    "previous_of_earlier": "the token before that",
}
ROWS: list[tuple[str, dict[str, str]]] = [
    ("weight", ON_TEXT),
    ("norm", ON_TEXT),
    ("weight", SPREAD | REPEATED),
]
UNIFORM: dict[str, Any] = {"color": style.GRAY, "linestyle": ":", "linewidth": 1}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `attention_patterns`.

    A dotted line is what attention that is spread evenly has, one for models that see both sides
    and one for those that do not.
    """
    measured = pd.DataFrame(over_heads(table(tables, "attention_patterns", NEEDED)))
    figure = Figure(figsize=(10.4, 6.2), layout="constrained")
    grid = figure.subplots(len(ROWS), len(ON_TEXT), sharex=True)
    parts = []
    for row, (by, names) in zip(grid, ROWS, strict=True):
        for axes, (quantity, title) in zip(row, names.items(), strict=True):
            part = measured[(measured["by"] == by) & (measured["quantity"] == quantity)]
            parts.append(_points(part, by, quantity))
            style.curves(axes, parts[-1], style.objective)
            _levels(axes, part["uniform"], quantity)
            axes.set_title(title)
        row[0].set_ylabel(f"share by {by}")
    grid[-1, 0].set_ylabel("nats")
    grid[-1, 1].set_ylabel("share by weight")
    grid[-1, 2].set_ylabel("share, less that where\nnothing repeats")
    for axes in grid[-1]:
        style.layer_axis(axes, "layer")
    _share_axes(grid)
    drawn = join(parts)
    uniform = Line2D([], [], label="attention spread evenly", **UNIFORM)
    style.legend(figure, [*style.key(drawn), uniform])
    return figure, drawn


def over_heads(rows: pd.DataFrame) -> Iterator[dict]:
    """The mean over the heads of each layer, by run, weight or norm, and quantity; on repeated
    tokens less the baseline."""
    by = ["objective", "seed", "layer", "by", "quantity"]
    for key, of in rows.groupby(by, sort=False):
        named = dict(zip(by, key, strict=True))
        baseline = of["baseline"].fillna(0).mean()
        value = of["value"].mean() - baseline
        without = without_blocks(of["value"], of[WITHOUT]).mean(axis=0) - baseline
        estimate = jackknife.estimate("value", value, without, _within(named["quantity"]))
        yield named | estimate | {"uniform": of["uniform"].mean(), "n": of["n"].min()}


def _within(quantity: str) -> Range:
    if quantity in REPEATED:
        return jackknife.COSINE  # a difference of two shares
    return jackknife.NOT_NEGATIVE if quantity == "entropy_nats" else jackknife.UNIT


def _points(part: pd.DataFrame, by: str, quantity: str) -> pd.DataFrame:
    """The curves of one panel."""
    named = part.rename(columns={"objective": "series", "layer": "x"})
    curves = over_runs(named, ["series", "x"], _within(quantity))
    unit = "difference of shares" if quantity in REPEATED else "share"
    unit = "nats" if quantity == "entropy_nats" else unit
    return points(curves, panel=f"{by}: {quantity}", quantity=unit)


def _levels(axes: Axes, uniform: pd.Series, quantity: str) -> None:
    """Lines at what attention has that is spread evenly; levels that look the same are one."""
    if quantity in REPEATED:
        axes.axhline(0, **UNIFORM)
        return
    for level in uniform.round(2).unique():
        axes.axhline(uniform[uniform.round(2) == level].mean(), **UNIFORM)


def _share_axes(grid: np.ndarray) -> None:
    """One vertical axis for a share by weight and by norm, and for repeated tokens; shares and
    entropy from 0 on."""
    on_repeated = grid[2, 2:]
    for panels in [*grid[:2].T, *grid[2, :2, None], on_repeated]:
        low, high = np.array([axes.get_ylim() for axes in panels]).T
        for axes in panels:
            axes.set_ylim(low.min() if panels is on_repeated else 0, high.max())
