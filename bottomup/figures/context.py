"""What a representation says of the tokens around it, by layer.

For each estimator two rows of panels, tokens before it and tokens after it, a column for each
distance; left of them its own token, and another one anywhere in its sentence. Of other tokens, the
panels show what context has added. Only that has intervals: other text moves the entropy of the own
token, and with it all layers together. Not in the papers.
"""

from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bottomup.figures import style
from bottomup.figures.points import Tables, having, join, of_one_run, points, table

NEEDED = [
    *("objective", "seed", "layer", "estimator", "place", "quantity"),
    *("nats", "ci_low", "ci_high", "entropy_nats", "n_occurrences", "n_labels"),
]
ESTIMATORS = {"classifier": "by a linear classifier", "clusters": "by clusters"}
OWN, ANYWHERE = "0", "anywhere"
PLACES = [[OWN, "-1", "-2", "-3", "-4"], [ANYWHERE, "+1", "+2", "+3", "+4"]]
# By whether a panel is about the token itself: the quantity of the table, and the axis.
SHOWN = {
    True: ("information", "information, nats"),
    False: ("added", "added by context, nats"),
}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `context`."""
    measured = table(tables, "context", NEEDED)
    rows = list(product(ESTIMATORS, PLACES))
    parts = [_select(measured, estimator, place) for estimator, row in rows for place in row]
    drawn = join([points(part) for part in parts])
    figure = Figure(figsize=(10.4, 2.0 * len(rows) + 0.4), layout="constrained")
    grid = figure.subplots(len(rows), len(PLACES[0]), sharex=True)
    for axes, part in zip(grid.flat, parts, strict=True):
        _panel(axes, part, drawn)
    for panels in np.split(grid, len(ESTIMATORS)):
        _share_axis([panels[1, 0], *panels[:, 1:].flat])
    for axes in grid[:, 2:].flat:
        axes.tick_params(labelleft=False)
    for axes in grid[:, :2].flat:
        axes.set_ylabel(SHOWN[axes in {*grid[:: len(PLACES), 0]}][1])
    for axes in grid[-1]:
        style.layer_axis(axes)
    style.legend(figure, style.key(drawn))
    return figure, drawn


def _select(measured: pd.DataFrame, estimator: str, place: str) -> pd.DataFrame:
    """The curves of one panel."""
    quantity, label = SHOWN[place == OWN]
    wanted = {"estimator": estimator, "place": place, "quantity": quantity}
    part = having(measured, "context", **wanted)
    names = {"objective": "series", "layer": "x", "nats": "value"}
    curves = of_one_run(part.rename(columns=names).sort_values("x", kind="stable"))
    if place == OWN:
        curves[["low", "high"]] = np.nan
    return curves.assign(panel=f"{estimator}: {place}", quantity=label)


def _panel(axes: Axes, part: pd.DataFrame, drawn: pd.DataFrame) -> None:
    estimator, place, panel = part.iloc[0][["estimator", "place", "panel"]]
    style.curves(axes, drawn[drawn["panel"] == panel], style.objective)
    if place == OWN:
        # Models that lose other words see other entropies: the one that none can exceed.
        style.level(axes, part["entropy_nats"].max(), "H")
        counts = style.counts(part, n_labels="token", n="occurrence")
        axes.set_title(f"{ESTIMATORS[estimator]}\n{counts}\nits own token")
        return
    style.across(axes)
    side = "before" if place.startswith("-") else "after"
    where = "anywhere in the sentence" if place == ANYWHERE else f"{place[1:]} {side}"
    axes.set_title(where)


def _share_axis(panels: list[Axes]) -> None:
    """One vertical axis, as long as all need."""
    limits = np.array([axes.get_ylim() for axes in panels])
    for axes in panels:
        axes.set_ylim(limits[:, 0].min(), limits[:, 1].max())
