"""What each encoder head attends to, by layer: its confidence, the weight on special tokens, and
how often its largest weight is at one relative position; a column for each model, what it
starts from in gray.

Source: heads, sections 4 and 5.1; special tokens as in Clark et al. (2019), section 3.2, figure 2.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bottomup.figures import heads, layout, style
from bottomup.figures.points import NoRowsError, Tables, join, points, select

IMPORTANCE = [*heads.HEAD, "importance", "value", "ci_low", "ci_high"]
FUNCTIONS = ["objective", "seed", "layer", "head", "function", "accuracy", "ci_low", "ci_high"]
QUANTITIES = {
    "confidence": "confidence:\nmean largest weight",
    "special": "weight on\nspecial tokens",
    "positional": "largest weight at\none relative position, share",
}
SHIFT = 0.14  # of the models to the right, and of what they start from, to the left, in layers
HEAD = style.Look("a dot for each head; line: mean of the layer", "#000000")
START = style.Look("of the model that it starts from", style.GRAY, "D")


@style.paper()
def draw(tables: Tables, initial: dict[str, str | None]) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `head_importance` and `head_functions`.

    A panel for each model, with the heads of what it starts from. Only the lowest seed is shown.
    initial: the models to show, each with the model that it starts from, if known.
    """
    drawn = _points(tables, initial)
    titles = style.labels(drawn["panel"])
    figure, rows = layout.grid(titles, QUANTITIES, 1.9, [1.75] * len(QUANTITIES), (1.2, 0.35))
    for quantity, panels in rows:
        for name, axes in panels.items():
            _panel(axes, drawn[(drawn["quantity"] == quantity) & (drawn["panel"] == name)], name)
            axes.set_ylim(-0.03, 1.03)
            style.layer_axis(axes, "layer")
    looks = [HEAD, START] if _starts(drawn).any() else [HEAD]
    handles = [
        Line2D([], [], label=look.label, **_dots(look) | {"linestyle": "-"}) for look in looks
    ]
    style.legend(figure, handles)
    return figure, drawn


def _points(tables: Tables, initial: dict[str, str | None]) -> pd.DataFrame:
    importance = select(tables, "head_importance", IMPORTANCE, attention="encoder")
    wanted = {"attention": "encoder", "function": "positional"}
    positional = select(tables, "head_functions", FUNCTIONS, **wanted)
    positional = positional.assign(importance="positional", value=positional["accuracy"])
    rows = heads.first_seed(pd.concat([importance, positional]))
    rows = rows[rows["importance"].isin(list(QUANTITIES))]
    models = [name for name in rows["objective"].unique() if name in initial]
    if not models:
        raise NoRowsError("the table head_importance has only untrained models")
    rows = rows.rename(
        columns={
            "objective": "series",
            "importance": "quantity",
            "layer": "x",
            "value": "y",
            "ci_low": "low",
            "ci_high": "high",
        }
    )
    parts = [
        points(rows[rows["series"] == series], panel=name)
        for name in style.ordered(models)
        for series in (initial[name], name)
    ]
    return join(parts)


def _starts(drawn: pd.DataFrame) -> pd.Series:
    return drawn["series"] != drawn["panel"]


def _panel(axes: Axes, shown: pd.DataFrame, name: str) -> None:
    side = SHIFT if _starts(shown).any() else 0
    for start, look, shift in ((True, START, -side), (False, style.objective(name), side)):
        part = shown[_starts(shown) == start]
        axes.plot(part["x"] + shift, part["y"], **_dots(look))
        mean = part.groupby("x")["y"].mean()
        axes.plot(mean.index + shift, mean, color=look.color, linewidth=0.9)


def _dots(look: style.Look) -> dict:
    return {
        "color": look.color,
        "marker": look.marker,
        "linestyle": "",
        "markersize": 2.6,
        "alpha": 0.7,
        "markeredgewidth": 0,
        "linewidth": 0.9,
    }
