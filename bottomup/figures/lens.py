"""What each layer would predict: the loss by layer, how often the most probable token turns, and
for which tokens.

Not in the papers; the lenses are those of Belrose et al. (2023) and nostalgebraist (2020).
"""

from dataclasses import replace

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bottomup.figures import style
from bottomup.figures.groups import LOOKS, TITLES
from bottomup.figures.points import Tables, in_order, join, of_one_run, points, table

NEEDED = [
    *("objective", "seed", "lens", "measure", "grouping", "group", "layer"),
    *("value", "ci_low", "ci_high", "n"),
]
LOGIT = ", logit lens"  # of a series
# By panel: its label, and what is selected.
LABELS = {"loss": "loss, nats", "turned": "share of predictions\nthat turn at this layer"}
TURNS = "layers at which a\nprediction turns"
BESIDE = 2.5  # typographic points between two of six curves
APART = 0.5  # of the places of groups, which nothing joins


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `lens`: panels `loss`, `turned`, and one for each grouping;
    series are objectives, with the logit lens by itself. `x` is a layer or a group."""
    measured = table(tables, "lens", NEEDED)
    by_layer = measured[measured["group"] == "all"].rename(columns={"layer": "x"})
    loss, turned = (by_layer[by_layer["measure"] == measure] for measure in ("loss_nats", "turned"))
    turns = measured[measured["measure"] == "turns"].rename(columns={"group": "x"})
    groupings = [name for name in LOOKS if (turns["grouping"] == name).any()]
    parts = {"loss": loss, "turned": turned[turned["lens"] == "tuned"]}
    parts |= {
        name: in_order(turns[turns["grouping"] == name], "x", LOOKS[name]) for name in groupings
    }
    drawn = join([_points(rows, panel) for panel, rows in parts.items()])
    rows = 1 + bool(groupings)
    figure = Figure(figsize=(7.4, 2.6 * rows + 0.5), layout="constrained")
    grid = figure.subplots(rows, 2, squeeze=False)
    for axes, panel in zip(grid[0], LABELS, strict=True):
        style.curves(axes, drawn[drawn["panel"] == panel], _look, beside=BESIDE)
        style.layer_axis(axes)
        axes.set_ylabel(LABELS[panel])
        axes.set_ylim(bottom=0)
    for axes in grid[1:].flat:
        axes.set_axis_off()
    for axes, grouping in zip(grid[1:].flat, groupings, strict=False):
        _of_groups(axes, drawn[drawn["panel"] == grouping], grouping)
    looks = {name: _look(name) for name in _ordered(drawn["series"])}
    style.legend(figure, style.key(drawn, looks), columns=4)
    return figure, drawn


def _points(rows: pd.DataFrame, panel: str) -> pd.DataFrame:
    series = rows["objective"].where(rows["lens"] == "tuned", rows["objective"] + LOGIT)
    quantity = rows["measure"].replace("loss_nats", "nats")
    return points(of_one_run(rows), panel=panel).assign(series=series, quantity=quantity)


def _look(series: str) -> style.Look:
    """That of the objective; of the logit lens light and dotted."""
    look = style.objective(series.removesuffix(LOGIT))
    if not series.endswith(LOGIT):
        return look
    light = style.light(look.color)
    return replace(look, label=f"{look.label}{LOGIT}", color=light, linestyle=(0, (1, 1.2)))


def _ordered(series: pd.Series) -> list[str]:
    """Objectives in the order of other figures, the tuned lens before the logit lens."""
    present = set(series)
    names = style.ordered(name.removesuffix(LOGIT) for name in present)
    every = [*names, *(f"{name}{LOGIT}" for name in names)]
    return [name for name in every if name in present]


def _of_groups(axes: Axes, shown: pd.DataFrame, grouping: str) -> None:
    """Draw one panel of groups, each at its place."""
    axes.set_axis_on()
    groups = [*dict.fromkeys(shown["x"])]
    places = shown["x"].map(groups.index)
    style.curves(axes, shown.assign(x=places), _look, reach=APART)
    axes.set_xticks(range(len(groups)), groups, rotation=45, ha="right", fontsize=7)
    axes.set_xlabel(f"{TITLES[grouping]} of the token to predict")
    axes.set_ylabel(TURNS)
    axes.set_ylim(bottom=0)
