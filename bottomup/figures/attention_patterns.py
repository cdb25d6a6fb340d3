"""What the heads of a layer attend to, by weight and by norm, and how spread their attention is.

Each point is the mean over the heads of a layer and over runs. Upper row of panels: by weight
(Clark et al. 2019); middle row: by norm (Kobayashi et al. 2020); lower row, by weight: entropy,
sinks (Gu et al. 2025), and repeated random tokens (Olsson et al. 2022).
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bottomup.figures import style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, join, points, table
from bottomup.measures import jackknife
from bottomup.measures.jackknife import WITHOUT
from bottomup.measures.over_runs import without_blocks

NEEDED = [
    *("objective", "seed", "layer", "by", "quantity", "value", "ci_low", "ci_high", WITHOUT),
    *("uniform", "n"),
]
ON_TEXT = {
    "special": "special tokens",
    "punctuation": "punctuation",
    "previous": "the previous token",
    "itself": "itself",
    "next": "the next token",
}
SPREAD = {
    "entropy_nats": "entropy",
    "sink": "a sink",
    "duplicate": "repeated: the same token",
    "next_of_earlier": "repeated: the one after it",
    "previous_of_earlier": "repeated: the one before it",
}
ROWS = [("weight", ON_TEXT), ("norm", ON_TEXT), ("weight", SPREAD)]
LABELS = {"entropy_nats": "nats", "sink": "share of sentences"}
UNIFORM = {"color": style.GRAY, "linestyle": ":", "linewidth": 1}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `attention_patterns`.

    A dotted line is what attention that is spread evenly has, for each model that sees another
    part of the sentence.
    """
    measured = pd.DataFrame(over_heads(table(tables, "attention_patterns", NEEDED)))
    shown = [(by, name) for by, names in ROWS for name in names]
    parts = {cell: measured[(measured[["by", "quantity"]] == cell).all(axis=1)] for cell in shown}
    drawn = join([_points(part, *cell) for cell, part in parts.items()])
    figure = Figure(figsize=(10.4, 6.2), layout="constrained")
    grid = figure.subplots(len(ROWS), len(ON_TEXT), sharex=True)
    for axes, cell in zip(grid.flat, shown, strict=True):
        _panel(axes, drawn[drawn["panel"] == ": ".join(cell)], parts[cell]["uniform"])
        axes.set_title({**ON_TEXT, **SPREAD}[cell[1]])
    for row, label in zip(grid, ("share by weight", "share by norm", "nats"), strict=True):
        row[0].set_ylabel(label)
    for axes in grid[-1]:
        axes.set_xlabel("layer")
    _share_axes(grid)
    looks = {name: style.objective(name) for name in style.ordered(drawn["series"])}
    uniform = Line2D([], [], label="attention spread evenly", **UNIFORM)
    style.legend(figure, [*style.key(drawn, looks), uniform])
    return figure, drawn


def over_heads(rows: pd.DataFrame) -> Iterator[dict]:
    """The mean over the heads of each layer, by run, weight or norm, and quantity."""
    by = ["objective", "seed", "layer", "by", "quantity"]
    for key, of in rows.groupby(by, sort=False):
        names = dict(zip(by, key, strict=True))
        within = jackknife.NOT_NEGATIVE if names["quantity"] == "entropy_nats" else jackknife.UNIT
        without = without_blocks(of[WITHOUT]).mean(axis=0)
        found = jackknife.estimate("value", of["value"].mean(), without, within)
        yield names | found | {"uniform": of["uniform"].mean(), "n": of["n"].min()}


def _points(part: pd.DataFrame, by: str, quantity: str) -> pd.DataFrame:
    """The curves of one panel."""
    within = jackknife.NOT_NEGATIVE if quantity == "entropy_nats" else jackknife.UNIT
    named = part.rename(columns={"objective": "series", "layer": "x"})
    curves = over_runs(named, ["series", "x"], within)
    return points(curves, panel=f"{by}: {quantity}", quantity=LABELS.get(quantity, "share"))


def _panel(axes: Axes, shown: pd.DataFrame, uniform: pd.Series) -> None:
    style.curves(axes, shown, style.objective)
    for level in uniform.round(2).unique():
        axes.axhline(uniform[uniform.round(2) == level].mean(), **UNIFORM)


def _share_axes(grid: np.ndarray) -> None:
    """One vertical axis from 0 on for a quantity by weight and by norm, and for repeated tokens."""
    columns = [*zip(grid[0], grid[1], strict=True), grid[2, 2:], *([axes] for axes in grid[2, :2])]
    for panels in columns:
        top = max(axes.get_ylim()[1] for axes in panels)
        for axes in panels:
            axes.set_ylim(0, top)
