"""How far layers and predictions follow the order of words, by layer and by change.

Not in the papers.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bottomup.figures import style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, in_order, join, points, table
from bottomup.measures.jackknife import ANY, NOT_NEGATIVE, WITHOUT

NEEDED = [
    *("objective", "seed", "layer", "order", "part", "quantity"),
    *("value", "ci_low", "ci_high", WITHOUT, "n"),
]
# By order and part: what a panel over layers is about.
BY_LAYER = {
    ("shuffled", "all"): "words shuffled",
    ("within_2", "all"): "neighbors swapped",
    ("moved", "before"): "one word moved:\nwords before both places",
    ("moved", "after"): "one word moved:\nwords after both places",
}
# Places on the other axes.
CONTEXT = {"0": "0", "1": "1", "2": "2", "4": "4", "8": "8"}
ORDERS = {"moved": "one\nmoved", "within_4": "in fours", "within_2": "swapped", "shuffled": "all"}
CUT, LOSS = "first half cut: last layer", "loss in the changed sentence"
SHARE = "share of the distance between\noccurrences of a token (1 = as far)"
NATS = "nats a prediction,\nabove the true sentence"
APART = 0.5  # of the places of orders, which nothing joins


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `word_order`: a panel for each of `BY_LAYER`, one for the
    first half cut, by how many words are left before a word, and one for the loss, by order."""
    measured = table(tables, "word_order", NEEDED).rename(columns={"objective": "series"})
    distances = measured[measured["quantity"] == "distance"].sort_values("layer")
    parts = [
        _points(
            distances[(distances["order"] == order) & (distances["part"] == part)],
            *("layer", title.replace("\n", " "), SHARE),
        )
        for (order, part), title in BY_LAYER.items()
    ]
    top = distances[distances["layer"] == distances.groupby("series")["layer"].transform("max")]
    parts.append(_points(in_order(top[top["order"] == "cut"], "part", CONTEXT), "part", CUT, SHARE))
    losses = measured[measured["quantity"] == "loss_nats"]
    parts.append(_points(in_order(losses, "order", ORDERS), "order", LOSS, NATS))
    figure = Figure(figsize=(9.4, 5.4), layout="constrained")
    grid = figure.subplots(2, 3)
    for axes, title, part in zip(grid.flat, [*BY_LAYER.values(), CUT, LOSS], parts, strict=True):
        axes.set_title(title)
        style.across(axes)
        _curves(axes, part)
    for axes in grid[:, 0]:
        axes.set_ylabel(SHARE)
    for axes, label in zip(grid[1, 1:], (SHARE, NATS), strict=True):
        axes.set_ylabel(label)
    grid[1, 1].set_xlabel("words left before a word")
    grid[1, 2].set_xlabel("words in another order")
    drawn = join(parts)
    style.legend(figure, style.key(drawn))
    return figure, drawn


def _points(rows: pd.DataFrame, x: str, panel: str, quantity: str) -> pd.DataFrame:
    """The points of a panel; `x`: the column of their places."""
    within = ANY if quantity == NATS else NOT_NEGATIVE
    means = over_runs(rows.assign(x=rows[x]), ["series", "x"], within)
    return points(means, panel=panel, quantity=quantity.replace("\n", " "))


def _curves(axes: Axes, part: pd.DataFrame) -> None:
    """One panel, over layers or over the places of others."""
    [*panel] = part["panel"].unique()
    places = {CUT: CONTEXT, LOSS: ORDERS}.get(panel[0]) if panel else None
    if places is None:
        style.curves(axes, part, style.objective)
        style.layer_axis(axes)
        return
    at = part["x"].map([*places].index)
    reach = style.NEXT if places is CONTEXT else APART
    style.curves(axes, part.assign(x=at), style.objective, reach=reach)
    axes.set_xticks(range(len(places)), [*places.values()])
