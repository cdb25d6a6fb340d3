"""What a representation shares with its nearest neighbors, by layer, a panel for each property.

Source: evolution, figures on the token, the position, the left and the right token, and the CCG
tag of the nearest neighbors.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bottomup.figures import pairs, style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, by_layer, having, join, points, published_in, table
from bottomup.measures.jackknife import NOT_NEGATIVE, UNIT, WITHOUT
from bottomup.published import NEIGHBORS

NEEDED = [
    *("objective", "seed", "layer", "property", "k", "value", "ci_low", "ci_high", WITHOUT),
    *("chance", "metric", "n_occurrences", "n_tokens", "ccg_source"),
]
# By property: the published figure with its curves, and the panel there.
TITLES = {
    "token": "same token",
    "position": "distance in position",
    "left_token": "same left token",
    "right_token": "same right token",
    "ccg": "same CCG category",
    "ccg_left": "same left part of the category",
    "ccg_right": "same right part of the category",
}
CHANCE, DIFFERENCE = "chance", "difference of two models"


@style.paper()
def draw(tables: Tables, properties: list[str]) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `neighbors` and, if given, the published figure.

    `properties` are the properties to show, a panel for each, and below it one of the differences
    between models, in pairs. Chance is what neighbors drawn at random from the same occurrences
    share on average.
    """
    measured = table(tables, "neighbors", NEEDED)
    measured = measured[measured["metric"] == "cosine"]  # as published
    parts = [_select(measured, name) for name in properties]
    drawn = join([_points(part, tables) for part in parts])
    return _figure(parts, drawn), drawn


def _figure(parts: list[pd.DataFrame], drawn: pd.DataFrame) -> Figure:
    differ = drawn[drawn["quantity"] == DIFFERENCE]
    heights = [3, 2] if len(differ) else [3]
    figure = Figure(figsize=(3.9 * len(parts) + 0.4, 1.1 * sum(heights)), layout="constrained")
    ratios = {"height_ratios": heights}
    grid = figure.subplots(
        len(heights), len(parts), sharey="row", squeeze=False, gridspec_kw=ratios
    )
    for part, column in zip(parts, grid.T, strict=True):
        for axes, panel in zip(column, (_panel, _differences), strict=False):
            panel(axes, part, drawn)
    chances = drawn.loc[drawn["quantity"] == CHANCE, "y"]
    for axes, chance in zip(grid[0], chances, strict=True):
        style.level(axes, chance, CHANCE)
    unit = ", tokens" if parts[0]["panel"].iloc[0] == "position" else ""
    labels = _quantity(parts[0]), f"{DIFFERENCE}{unit}"
    for axes, label in zip(grid[:, 0], labels, strict=False):
        axes.set_ylabel(label)
    curves = drawn[~drawn["quantity"].isin([CHANCE, DIFFERENCE])]
    looks = {name: style.objective(name) for name in style.ordered(curves["series"])}
    looks |= pairs.less_looks(differ["series"])
    style.legend(figure, style.key(drawn, looks), columns=3 * len(parts))
    return figure


def _select(measured: pd.DataFrame, name: str) -> pd.DataFrame:
    return by_layer(having(measured, "neighbors", property=name), property="panel")


def _points(part: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    chance = part.groupby("panel")["chance"].mean().rename("y").reset_index()
    within = NOT_NEGATIVE if part["panel"].iloc[0] == "position" else UNIT
    by = ["panel", "series", "x"]
    theirs = _published(part, tables)
    differ = pairs.differences(part, ["panel", "x"], within)
    return join(
        [
            points(over_runs(part, by, within), quantity=_quantity(part)),
            points(theirs, "published", quantity=_quantity(part)),
            points(over_runs(differ, by, within.of_differences), quantity=DIFFERENCE),
            points(pairs.published_differences(theirs), "published", quantity=DIFFERENCE),
            points(chance, quantity=CHANCE),
        ]
    )


def _published(part: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    name = part["panel"].iloc[0]
    figure, panel = NEIGHBORS[name]
    curves = published_in(tables, figure)
    curves = curves.assign(series=curves["series"].str.lower())
    shown = (curves["panel"] == panel) & curves["series"].isin(part["series"])
    return curves[shown].assign(panel=name)


def _quantity(part: pd.DataFrame) -> str:
    neighbors = style.count(part["k"], "nearest neighbor")
    if part["panel"].iloc[0] == "position":
        return f"distance in position to the\n{neighbors}, tokens"
    return f"share of the {neighbors}"


def _panel(axes: Axes, part: pd.DataFrame, drawn: pd.DataFrame) -> None:
    name = part["panel"].iloc[0]
    shown = drawn[(drawn["panel"] == name) & ~drawn["quantity"].isin([CHANCE, DIFFERENCE])]
    style.curves(axes, shown, style.objective)
    _axes(axes, name)
    counts = style.counts(part, n_tokens="token", n_occurrences="occurrence")
    axes.set_title(f"{_title(name, part)}\n{counts}")


def _differences(axes: Axes, part: pd.DataFrame, drawn: pd.DataFrame) -> None:
    name = part["panel"].iloc[0]
    shown = drawn[(drawn["panel"] == name) & (drawn["quantity"] == DIFFERENCE)]
    style.across(axes)
    style.curves(axes, shown, pairs.look)
    _axes(axes, name)


def _axes(axes: Axes, name: str) -> None:
    # As in the paper, kept is above lost.
    if name == "position" and not axes.yaxis_inverted():
        axes.invert_yaxis()
    style.layer_axis(axes)


def _title(name: str, part: pd.DataFrame) -> str:
    title = TITLES[name]
    return f"{title}, {style.ccg(part['ccg_source'])}" if name.startswith("ccg") else title
