"""What a linear classifier reads of pairs of words and of phrases, and at which layers.

Not in the papers; the tasks are those of Tenney et al. (2019) and Blevins et al. (2018).
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bottomup.figures import style
from bottomup.figures.points import Tables, having, join, of_one_run, points, table

NEEDED = [
    *("objective", "seed", "layer", "task", "metric", "value", "ci_low", "ci_high", "baseline"),
    *("by_tags", "n", "n_labels"),
]
TASKS = {
    "relation": "relation of a word to its head",
    "arc": "head and dependent, or not",
    "parent": "category of the parent phrase",
    "grandparent": "of the grandparent phrase",
    "great_grandparent": "of the great-grandparent phrase",
}
SHORT = ["relation", "arc", "parent", "grand-\nparent", "great-\ngrandp."]
ACCURACY, EXPECTED = "accuracy, share", "expected layer"
COLUMNS = 3


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `edge_probes`.

    A line across a panel is what parts of speech alone tell; above it stands what a classifier
    reaches that sees nothing. The last panel has the expected layer of each task.
    """
    named = table(tables, "edge_probes", NEEDED).rename(columns={"objective": "series"})
    measured = having(named, "edge_probes", metric="accuracy").sort_values("layer")
    accuracies = of_one_run(measured.rename(columns={"layer": "x", "task": "panel"}))
    drawn = points(accuracies, quantity=ACCURACY).dropna(subset=["y"])
    expected = named[(named["metric"] == "expected_layer") & named["task"].isin(TASKS)]
    places = expected.assign(x=expected["task"].map([*TASKS].index)).sort_values("x")
    layers = points(of_one_run(places), panel=EXPECTED, quantity=EXPECTED).dropna(subset=["y"])
    figure = Figure(figsize=(10.4, 6.0), layout="constrained")
    *panels, last = figure.subplots(2, COLUMNS).flat
    for axes, task in zip(panels, TASKS, strict=True):
        _panel(axes, task, measured[measured["task"] == task], drawn[drawn["panel"] == task])
    style.curves(last, layers, style.objective, reach=0)
    last.set_xticks(range(len(TASKS)), SHORT)
    last.set_xlim(-0.5, len(TASKS) - 0.5)  # also where some tasks have no expected layer
    last.set_ylabel("layer")
    last.set_title("expected layer:\nwhere accuracy rises")
    style.legend(figure, style.key(drawn))
    return figure, join([drawn, layers])


def _panel(axes: Axes, task: str, part: pd.DataFrame, drawn: pd.DataFrame) -> None:
    style.curves(axes, drawn, style.objective)
    style.layer_axis(axes)
    axes.set_ylabel(ACCURACY)
    axes.set_title(TASKS[task])
    if drawn.empty:
        return
    counts = style.counts(part, n="example", n_labels="label")
    axes.set_title(f"{TASKS[task]}\n{counts}; nothing seen: {part['baseline'].mean():.2f}")
    style.level(axes, part["by_tags"].mean(), "by tags")
