"""What remains of the differences between groups of tokens once these are made comparable: their
change and influence relative to the mean of the groups, as published and matched.
"""

from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from bottomup.figures import groups, style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, points, table
from bottomup.measures import jackknife
from bottomup.measures.jackknife import NOT_NEGATIVE

QUANTITY = "PWCCA distance, relative to the mean of the groups"
LAYER = {"change": "layer_b", "influence": "layer"}
TICKS = {"change": (1, 1.2, 1.5, 2, 5, 7, 8.5), "influence": (1, 2, 5)}  # in each decade
LOOKS = {
    "published": style.Look("as published", "#000000", "o", "none"),
    "matched": style.Look("matched", "#0072B2", "s", "none"),
    "ten_types": style.Look("ten types of each group (change)", "#E69F00", "^", "none"),
}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `change` and `influence` with values without each block."""
    rows = pd.concat([_relative(tables, *column) for column in product(LAYER, groups.LOOKS)])
    summary = over_runs(rows, ["panel", "series", "x"], NOT_NEGATIVE)
    drawn = points(summary, quantity=QUANTITY)
    return _figure(drawn), drawn


def _relative(tables: Tables, measure: str, grouping: str) -> pd.DataFrame:
    """The distance divided by the mean of the groups, mean over layers: for each run, matching and
    group.

    As in the figure of change, the step out of the embeddings does not count.
    """
    layer = LAYER[measure]
    measured = table(tables, measure, [*groups.NEEDED, layer])
    rows = measured[measured["grouping"] == grouping]
    if measure == "change":
        rows = groups.beyond_embeddings(rows, "objective")
    estimates = []
    for (objective, seed, matching), run in rows.groupby(["objective", "seed", "matching"]):
        values = np.column_stack([run["distance"], np.stack(run[jackknife.WITHOUT])])
        columns = pd.DataFrame(values, index=run.index)
        relative = columns / columns.groupby(run[layer]).transform("mean")
        for group, of_layers in relative.groupby(run["group"]):
            value, *without = of_layers.mean()
            names = {"panel": f"{objective}, {measure}, {grouping}", "series": matching}
            estimate = jackknife.estimate("value", value, np.array(without), NOT_NEGATIVE)
            estimates.append({**names, "x": group, "seed": seed, **estimate})
    return pd.DataFrame(estimates)


def _figure(drawn: pd.DataFrame) -> Figure:
    objectives = style.ordered(drawn["panel"].str.split(", ").str[0])
    grouped = set(drawn["panel"].str.split(", ").str[2])
    columns = [*product(LAYER, [name for name in groups.LOOKS if name in grouped])]
    figure = Figure(figsize=(9.6, 1.55 * len(objectives) + 1.3), layout="constrained")
    grid = figure.subplots(len(objectives), len(columns), sharex="col", sharey="col", squeeze=False)
    for (row, objective), (column, (measure, grouping)) in product(
        enumerate(objectives), enumerate(columns)
    ):
        shown = drawn[drawn["panel"] == f"{objective}, {measure}, {grouping}"]
        measured = set(drawn.loc[drawn["panel"].str.endswith(f"{measure}, {grouping}"), "x"])
        names = [name for name in groups.LOOKS[grouping] if name in measured]
        _panel(grid[row, column], shown, names)
        if row == 0:
            grid[0, column].set_title(f"{measure}, by {groups.TITLES[grouping]}")
        if column == 0:
            grid[row, 0].set_ylabel(style.objective(objective).label)
    for column, (measure, _) in zip(grid.T, columns, strict=True):
        for axes in column:
            style.log_ticks(axes, TICKS[measure])
    figure.supylabel(QUANTITY, fontsize=8)
    style.legend(figure, style.key(drawn, LOOKS))
    return figure


def _panel(axes: Axes, shown: pd.DataFrame, names: list[str]) -> None:
    if shown.empty:
        style.say(axes, style.NO_VALUES)
    axes.axhline(1, color=style.GRAY, linewidth=0.7)
    for shift, (matching, look) in zip((-0.2, 0, 0.2), LOOKS.items(), strict=True):
        of = shown[shown["series"] == matching]
        places = [names.index(group) + shift for group in of["x"]]
        axes.vlines(places, of["low"], of["high"], color=look.color, linewidth=1.2)
        axes.plot(places, of["y"], look.marker, color=look.color, markersize=3.5)
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())
