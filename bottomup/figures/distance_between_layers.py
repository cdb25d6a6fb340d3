"""PWCCA distance between consecutive layers of a run.

Source: evolution, figure on the change of representations between consecutive layers.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bottomup.figures import style
from bottomup.figures.points import Tables, join, over_intervals, points, table

PUBLISHED = "change_by_task"
NEEDED = [
    *("objective", "seed", "layer_a", "layer_b", "variant", "weights"),
    *("distance", "ci_low", "ci_high"),
]
FIRST_STEP = "0-1"


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `pwcca_between_layers` and, if given, `change_by_task`."""
    measured = _consecutive(table(tables, "pwcca_between_layers", NEEDED))
    ours = points(over_intervals(measured, "distance", ["panel", "series", "x"]))
    drawn = join([ours, *_published(tables, ours)]).assign(quantity="PWCCA distance")
    return _figure(drawn), drawn


def _consecutive(measured: pd.DataFrame) -> pd.DataFrame:
    one_up = measured["layer_b"] == measured["layer_a"] + 1
    kept = measured[one_up & (measured["weights"] == "x")]
    kept = kept.sort_values(["variant", "layer_a"])
    steps = kept["layer_a"].astype(str) + "-" + kept["layer_b"].astype(str)
    return kept.assign(x=steps).rename(columns={"objective": "series", "variant": "panel"})


def _published(tables: Tables, ours: pd.DataFrame) -> list[pd.DataFrame]:
    if PUBLISHED not in tables:
        return []
    curves = tables[PUBLISHED].assign(series=tables[PUBLISHED]["series"].str.lower())
    curves = curves[curves["series"].isin(ours["series"])]
    return [points(curves.assign(panel=panel), "published") for panel in ours["panel"].unique()]


def _figure(drawn: pd.DataFrame) -> Figure:
    panels = list(drawn["panel"].unique())
    figure = Figure(figsize=(3.9 * len(panels) + 0.4, 3.2), layout="constrained")
    # The step out of the embeddings can be several times larger, so it has its own axis.
    first = drawn["x"] == FIRST_STEP
    groups = [group for group in (drawn[first], drawn[~first]) if len(group)]
    widths = [1, 5][-len(groups) :] * len(panels)
    grid = figure.add_gridspec(1, len(widths), width_ratios=widths)
    cells = [(panel, group) for panel in panels for group in groups]
    for place, (panel, group) in enumerate(cells):
        same_step = figure.axes[place % len(groups)] if place >= len(groups) else None
        axes = figure.add_subplot(grid[place], sharey=same_step)
        _steps(axes, group[group["panel"] == panel])
        if group is groups[-1]:
            axes.set_title(style.VARIANTS[panel])
    figure.axes[0].set_ylabel(style.DISTANCE)
    looks = [style.objective(name) for name in style.ordered(drawn["series"])]
    style.legend(figure, style.key(drawn, looks))
    return figure


def _steps(axes: Axes, shown: pd.DataFrame) -> None:
    layer = shown["x"].str.split("-").str[0].astype(int)
    style.curves(axes, shown.assign(x=layer), style.objective)
    style.step_axis(axes, shown["x"])
