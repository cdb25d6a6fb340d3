"""What a linear classifier finds in each layer: a row of panels for each task.

Source: Hewitt and Liang 2019 (control tasks), Voita and Titov 2020 (code length).
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bottomup.errors import UserError
from bottomup.figures import style
from bottomup.figures.points import Tables, over_intervals, points, table

NEEDED = [
    *("objective", "seed", "layer", "task", "metric", "value", "ci_low", "ci_high", "baseline"),
    *("n", "n_labels"),
]
METRICS = {
    "accuracy": "accuracy, share",
    "selectivity": "accuracy less that on the control task",
    "compression": "compression, times",
}
TASKS = {"tag": "part of speech", "relation": "dependency relation", "ccg": "CCG category"}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """From `probes`: the figure and its points.

    A line across the panels is what a classifier that sees nothing reaches.
    """
    measured = table(tables, "probes", NEEDED)
    measured = measured[measured["metric"].isin(METRICS)].sort_values("layer")
    if measured.empty:
        raise UserError(
            f"no rows with metric {', '.join(METRICS)} in the table probes; measure them or leave "
            "the figure out"
        )
    panels = measured["task"] + ": " + measured["metric"]
    named = measured.assign(panel=panels).rename(columns={"objective": "series", "layer": "x"})
    drawn = points(over_intervals(named, "value", ["panel", "series", "x"])).assign(
        quantity=lambda rows: rows["panel"].str.partition(": ")[2].map(METRICS)
    )
    return _figure(named, drawn), drawn


def _figure(measured: pd.DataFrame, drawn: pd.DataFrame) -> Figure:
    tasks = [name for name in TASKS if name in set(measured["task"])]
    figure = Figure(
        figsize=(3.6 * len(METRICS) + 0.4, 2.9 * len(tasks) + 0.6), layout="constrained"
    )
    for axes, task in zip(
        figure.subplots(len(tasks), len(METRICS), squeeze=False), tasks, strict=True
    ):
        for one, metric in zip(axes, METRICS, strict=True):
            _panel(one, measured[measured["panel"] == f"{task}: {metric}"], drawn)
    looks = [style.objective(name) for name in style.ordered(drawn["series"])]
    style.legend(figure, style.key(drawn, looks))
    return figure


def _panel(axes: Axes, part: pd.DataFrame, drawn: pd.DataFrame) -> None:
    if part.empty:
        axes.set_visible(False)
        return
    panel, task, metric = part.iloc[0][["panel", "task", "metric"]]
    style.curves(axes, drawn[drawn["panel"] == panel], style.objective)
    style.level(axes, part["baseline"].mean(), "nothing seen")
    style.layer_axis(axes)
    axes.set_ylabel(METRICS[metric])
    counts = f"{style.count(part['n'])} words, {style.count(part['n_labels'])} labels"
    axes.set_title(f"{TASKS[task]}\n{counts}")
