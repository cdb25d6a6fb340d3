"""PWCCA distance between consecutive layers of a run, and below how models differ in it.

Source: evolution, figure on the change of representations between consecutive layers.
"""

from collections.abc import Callable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bottomup.figures import pairs, style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, join, points, published_in, table
from bottomup.measures.jackknife import UNIT, WITHOUT

PUBLISHED = "change_by_task"
NEEDED = [
    *("objective", "seed", "layer_a", "layer_b", "variant", "weights"),
    *("distance", "ci_low", "ci_high", WITHOUT),
]
FIRST_STEP = "0-1"
QUANTITY, DIFFERENCE = "PWCCA distance", "difference of two models"
BY = ["panel", "series", "x"]


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `pwcca_between_layers` and, if given, `change_by_task`."""
    measured = _consecutive(table(tables, "pwcca_between_layers", NEEDED))
    theirs = _published(tables, measured)
    differ = pairs.differences(measured, ["panel", "x"], UNIT)
    drawn = join(
        [
            points(over_runs(measured, BY, UNIT), quantity=QUANTITY),
            points(theirs, "published", quantity=QUANTITY),
            points(over_runs(differ, BY, UNIT.of_differences), quantity=DIFFERENCE),
            points(pairs.published_differences(theirs), "published", quantity=DIFFERENCE),
        ]
    )
    return _figure(drawn), drawn


def _consecutive(measured: pd.DataFrame) -> pd.DataFrame:
    one_up = measured["layer_b"] == measured["layer_a"] + 1
    kept = measured[one_up & (measured["weights"] == "x")]
    kept = kept.sort_values(["variant", "layer_a"])
    steps = kept["layer_a"].astype(str) + "-" + kept["layer_b"].astype(str)
    names = {"objective": "series", "variant": "panel", "distance": "value"}
    return kept.assign(x=steps).rename(columns=names)


def _published(tables: Tables, measured: pd.DataFrame) -> pd.DataFrame:
    """The published curves of our objectives, in every panel."""
    curves = published_in(tables, PUBLISHED)
    curves = curves.assign(series=curves["series"].str.lower())
    curves = curves[curves["series"].isin(measured["series"])]
    return pd.concat([curves.assign(panel=panel) for panel in measured["panel"].unique()])


def _figure(drawn: pd.DataFrame) -> Figure:
    panels = list(drawn["panel"].unique())
    rows = dict(list(drawn.groupby("quantity", sort=False)))
    # The step out of the embeddings can be several times larger, so it has its own axis.
    first = drawn["x"] == FIRST_STEP
    groups = [group for group in (first, ~first) if group.any()]
    figure = Figure(figsize=(3.9 * len(panels) + 0.4, 0.9 + 2.2 * len(rows)), layout="constrained")
    ratios = {"width_ratios": [1, 5][-len(groups) :] * len(panels)}
    grid = figure.subplots(len(rows), len(panels) * len(groups), squeeze=False, gridspec_kw=ratios)
    for row, (quantity, shown) in zip(grid, rows.items(), strict=True):
        for place, axes in enumerate(row):
            panel, of_group = divmod(place, len(groups))
            if panel:
                axes.sharey(row[of_group])
            part = shown[groups[of_group][shown.index] & (shown["panel"] == panels[panel])]
            _steps(axes, part, style.objective if quantity == QUANTITY else pairs.look)
        row[0].set_ylabel(style.DISTANCE if quantity == QUANTITY else DIFFERENCE)
    for axes, panel in zip(grid[0, len(groups) - 1 :: len(groups)], panels, strict=True):
        axes.set_title(style.VARIANTS[panel])
    for axes in grid[1:].flat:
        style.across(axes)
    looks = {name: style.objective(name) for name in style.ordered(rows[QUANTITY]["series"])}
    looks |= pairs.less_looks(drawn.loc[drawn["quantity"] == DIFFERENCE, "series"])
    style.legend(figure, style.key(drawn, looks))
    return figure


def _steps(axes: Axes, shown: pd.DataFrame, look: Callable[[str], style.Look]) -> None:
    layer = shown["x"].str.split("-").str[0].astype(int)
    style.curves(axes, shown.assign(x=layer), look)
    style.step_axis(axes, shown["x"])
