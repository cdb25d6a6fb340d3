"""What a linear classifier finds in each layer: a row of panels for each task.

Source: Hewitt and Liang 2019 (control tasks), Voita and Titov 2020 (code length), Tenney et al.
2019 (center of gravity).
"""

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bottomup.figures import style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, having, join, points, table
from bottomup.measures.jackknife import COSINE, NOT_NEGATIVE, UNIT, WITHOUT

NEEDED = [
    *("objective", "seed", "layer", "task", "metric", "value", "ci_low", "ci_high", WITHOUT),
    *("baseline", "n", "n_labels"),
]
METRICS = {
    "accuracy": "accuracy, share",
    "selectivity": "accuracy less that on the control task",
    "compression": "compression, times",
}
WITHIN = {"accuracy": UNIT, "selectivity": COSINE, "compression": NOT_NEGATIVE}
CENTER, CENTER_LABEL = "center_of_gravity", "center of gravity of the scalar mix, layers"
MARKER: Final = "o"  # hollow
TASKS = {"tag": "part of speech", "relation": "dependency relation", "ccg": "CCG category"}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `probes`.

    A line across a panel is what a classifier that sees nothing reaches. A mark on the layer axis
    of accuracy is the center of gravity of the mix of all layers.
    """
    named = table(tables, "probes", NEEDED).rename(columns={"objective": "series", "layer": "x"})
    named["panel"] = named["task"] + ": " + named["metric"]
    measured = having(named, "probes", metric=[*METRICS]).sort_values("x")
    by = ["panel", "series", "x"]
    curves = measured.groupby("metric", sort=False)
    drawn = join(
        [
            points(over_runs(of_metric, by, WITHIN[metric]), quantity=METRICS[metric])
            for metric, of_metric in curves
        ]
    )
    centers = over_runs(named[named["metric"] == CENTER], by[:2], NOT_NEGATIVE)
    marks = points(centers, quantity=CENTER_LABEL)
    return _figure(measured, drawn, marks), join([drawn, marks])


def _figure(measured: pd.DataFrame, drawn: pd.DataFrame, marks: pd.DataFrame) -> Figure:
    tasks = [name for name in TASKS if name in set(measured["task"])]
    figure = Figure(
        figsize=(3.6 * len(METRICS) + 0.4, 2.9 * len(tasks) + 0.6), layout="constrained"
    )
    for axes, task in zip(
        figure.subplots(len(tasks), len(METRICS), squeeze=False), tasks, strict=True
    ):
        for one, metric in zip(axes, METRICS, strict=True):
            _panel(one, measured[measured["panel"] == f"{task}: {metric}"], drawn)
        _mark(axes[0], marks[marks["panel"] == f"{task}: {CENTER}"])
    handles = style.key(drawn)
    if len(marks):
        handles.append(
            Line2D([], [], color=style.GRAY, marker=MARKER, mfc="none", ls="", label=CENTER_LABEL)
        )
    style.legend(figure, handles)
    return figure


def _mark(axes: Axes, centers: pd.DataFrame) -> None:
    """Rings on the layer axis, one for each series; at one place, one is around the other."""
    colors = [style.objective(name).color for name in centers["series"]]
    sizes = (5 + 3 * np.arange(len(centers))) ** 2
    x, y, at = centers["y"], [0] * len(centers), axes.get_xaxis_transform()
    marks = axes.scatter(x, y, sizes, marker=MARKER, transform=at, clip_on=False)
    marks.set(facecolor="none", edgecolor=colors)


def _panel(axes: Axes, part: pd.DataFrame, drawn: pd.DataFrame) -> None:
    if part.empty:
        axes.set_axis_off()
        style.say(axes, style.NO_VALUES)
        return
    panel, task, metric = part.iloc[0][["panel", "task", "metric"]]
    style.curves(axes, drawn[drawn["panel"] == panel], style.objective)
    style.level(axes, part["baseline"].mean(), "nothing seen")
    style.layer_axis(axes)
    axes.set_ylabel(METRICS[metric])
    counts = style.counts(part, n="word", n_labels="label")
    axes.set_title(f"{TASKS[task]}\n{counts}")
