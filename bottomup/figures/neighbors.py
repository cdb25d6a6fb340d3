"""What a representation shares with its nearest neighbors, by layer, a panel for each property.

Source: evolution, figures on the token, the position, the left and the right token, and the CCG
tag of the nearest neighbors.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bottomup.errors import UserError
from bottomup.figures import style
from bottomup.figures.points import Tables, join, over_intervals, points, table

NEEDED = [
    *("objective", "seed", "layer", "property", "k", "value", "ci_low", "ci_high", "chance"),
    *("metric", "n_occurrences", "n_tokens", "ccg_source"),
]
# By property: the published figure with its curves, and the panel there.
PUBLISHED = {
    "token": ("evolution_token", "Accuracy for top-50 neighbors"),
    "position": ("evolution_position", "Position distance"),
    "left_token": ("same_left_right_tokens", "Same left token"),
    "right_token": ("same_left_right_tokens", "Same right token"),
    "ccg": ("evolution_same_ccg", "Same CCG supertag"),
    "ccg_left": ("evolution_ccg_left_right", "Same CCG (left)"),
    "ccg_right": ("evolution_ccg_left_right", "Same CCG (right)"),
}
TITLES = {
    "token": "same token",
    "position": "distance in position",
    "left_token": "same left token",
    "right_token": "same right token",
    "ccg": "same CCG category",
    "ccg_left": "same left part of the category",
    "ccg_right": "same right part of the category",
}
CHANCE = "chance"


@style.paper()
def draw(tables: Tables, properties: list[str]) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `neighbors` and, if given, the published figure.

    `properties` are the properties to show, a panel for each. Chance is what neighbors drawn at
    random from the same occurrences share on average.
    """
    measured = table(tables, "neighbors", NEEDED)
    measured = measured[measured["metric"] == "cosine"]  # as published
    parts = [_select(measured, name) for name in properties]
    drawn = join([_points(part, tables) for part in parts])
    figure = Figure(figsize=(3.9 * len(parts) + 0.4, 3.3), layout="constrained")
    panels = figure.subplots(1, len(parts), sharey=True, squeeze=False)[0]
    for axes, part in zip(panels, parts, strict=True):
        _panel(axes, part, drawn)
    chances = drawn.loc[drawn["quantity"] == CHANCE, "y"]
    for axes, chance in zip(panels, chances, strict=True):
        style.level(axes, chance, CHANCE)
    panels[0].set_ylabel(_quantity(parts[0]))
    curves = drawn[drawn["quantity"] != CHANCE]
    looks = [style.objective(name) for name in style.ordered(curves["series"])]
    style.legend(figure, style.key(curves, looks), columns=3 * len(parts))
    return figure, drawn


def _select(measured: pd.DataFrame, name: str) -> pd.DataFrame:
    part = measured[measured["property"] == name].sort_values("layer")
    if part.empty:
        found = ", ".join(sorted(measured["property"].unique()))
        raise UserError(
            f"the table neighbors has no rows with property {name}; found {found}; measure it, or "
            f"leave the figure out"
        )
    names = {"objective": "series", "layer": "x", "property": "panel"}
    return part.rename(columns=names)


def _points(part: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    chance = part.groupby("panel")["chance"].agg(y="mean", low="min", high="max").reset_index()
    curves = over_intervals(part, "value", ["panel", "series", "x"])
    return join(
        [
            points(curves, quantity=_quantity(part)),
            points(_published(part, tables), "published", quantity=_quantity(part)),
            points(chance, quantity=CHANCE),
        ]
    )


def _published(part: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    name = part["panel"].iloc[0]
    figure, panel = PUBLISHED[name]
    if figure not in tables:
        return pd.DataFrame()
    curves = tables[figure].assign(series=tables[figure]["series"].str.lower())
    shown = (curves["panel"] == panel) & curves["series"].isin(part["series"])
    return curves[shown].assign(panel=name)


def _quantity(part: pd.DataFrame) -> str:
    neighbors = f"{style.count(part['k'])} nearest neighbors"
    if part["panel"].iloc[0] == "position":
        return f"distance in position to the\n{neighbors}, tokens"
    return f"share of the {neighbors}"


def _panel(axes: Axes, part: pd.DataFrame, drawn: pd.DataFrame) -> None:
    name = part["panel"].iloc[0]
    shown = drawn[drawn["panel"] == name]
    style.curves(axes, shown[shown["quantity"] != CHANCE], style.objective)
    if name == "position":
        # As in the paper, kept is above lost.
        axes.invert_yaxis()
    style.layer_axis(axes)
    counts = (
        f"{style.count(part['n_tokens'])} tokens, {style.count(part['n_occurrences'])} occurrences"
    )
    axes.set_title(f"{_title(name, part)}\n{counts}")


def _title(name: str, part: pd.DataFrame) -> str:
    title = TITLES[name]
    return f"{title}, {style.ccg(part['ccg_source'])}" if name.startswith("ccg") else title
