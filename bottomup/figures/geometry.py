"""How the representations of a layer lie in space, over depth: a panel for each measure.

Depth is relative, so that models of other depths stand side by side. Not in the papers; the module
`bottomup.measures.geometry` has the sources.
"""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bottomup.figures import style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, join, points, table
from bottomup.measures.jackknife import NOT_NEGATIVE, UNIT, WITHOUT, Range

NEEDED = [
    *("objective", "seed", "layer", "measure", "value", "ci_low", "ci_high", WITHOUT, "null", "n"),
]
# By measure: the label of the axis, and what a value can be.
MEASURES = {
    "matrix_entropy": ("matrix entropy of a sentence,\nshare of the most", UNIT),
    "curvature_degrees": ("curvature of a sentence,\ndegrees", Range(0, 180)),
    "intrinsic_dimension": ("intrinsic dimension (TwoNN)", NOT_NEGATIVE),
    "effective_rank": ("effective rank", Range(1)),
}
NULL = "null"
LINE: dict[str, Any] = {"linewidth": 0.9, "zorder": 1.5}  # of a null, behind
FAR = 10  # times the highest value, or less than the lowest: there the logarithmic axis ends
BESIDE = 2.5  # typographic points between two of five curves
DEPTH = "relative depth (layer / top layer; 0 = embeddings)"


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `geometry`: a panel for each measure; `quantity` is the unit,
    or `null`."""
    measured = table(tables, "geometry", NEEDED).rename(columns={"objective": "series"})
    top = measured.groupby("series")["layer"].transform("max")
    measured = measured.assign(x=measured["layer"] / top)
    drawn = join([_points(measured, measure) for measure in MEASURES])
    values = drawn[drawn["quantity"] != NULL]
    figure = Figure(figsize=(7.4, 5.6), layout="constrained")
    grid = figure.subplots(2, 2, sharex=True)
    for axes, measure in zip(grid.flat, MEASURES, strict=True):
        _panel(axes, drawn[drawn["panel"] == measure], measure)
    for axes in grid[-1]:
        axes.set_xlabel(DEPTH)
    null = Line2D([], [], color=style.light(style.GRAY), label="null of each (light)", **LINE)
    style.legend(figure, [*style.key(values), null])
    return figure, drawn


def _points(measured: pd.DataFrame, measure: str) -> pd.DataFrame:
    """The points of one panel: means over runs, and those of their nulls."""
    label, within = MEASURES[measure]
    by, rows = ["series", "x"], measured[measured["measure"] == measure].sort_values("x")
    nulls = rows.groupby(by, sort=False)["null"].mean().dropna().rename("y").reset_index()
    return join(
        [
            points(over_runs(rows, by, within), panel=measure, quantity=label.replace("\n", " ")),
            points(nulls, panel=measure, quantity=NULL),
        ]
    )


def _panel(axes: Axes, shown: pd.DataFrame, measure: str) -> None:
    is_null = shown["quantity"] == NULL
    style.curves(axes, shown[~is_null], style.objective, beside=BESIDE)
    for series, null in shown[is_null].groupby("series", sort=False):
        color = style.light(style.objective(str(series)).color)
        axes.plot(null["x"], null["y"], color=color, **LINE)
    axes.set_ylabel(MEASURES[measure][0])
    if measure == "intrinsic_dimension" and len(shown):  # its null is many times as large
        axes.set_yscale("log")
        # An interval of many orders of magnitude would leave no room for the values.
        (low, high), values = axes.get_ylim(), shown["y"]
        axes.set_ylim(max(low, values.min() / FAR), min(high, values.max() * FAR))
        style.log_ticks(axes, (1, 2, 5))
        axes.yaxis.set_major_formatter("{x:g}")
