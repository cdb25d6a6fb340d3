"""What frozen layers tell of a task, what fine-tuning learns of it, and how far it moves layers: a
column for each task.

Not in the papers; the questions are those of Peters et al. (2019) and Merchant et al. (2020).
"""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bottomup.figures import style
from bottomup.figures.means import over_runs
from bottomup.figures.points import NoRowsError, Tables, join, points, table
from bottomup.measures.jackknife import COSINE, UNIT, WITHOUT

NEEDED = [
    *("objective", "seed", "layer", "task", "weights", "metric", "value", "ci_low", "ci_high"),
    *(WITHOUT, "baseline", "null", "n", "n_labels"),
]
TASKS = {"tag": "part of speech", "relation": "dependency relation", "origin": "source of sentence"}
ACCURACY, MOVED = "accuracy", "cka_debiased"
LABELS = {ACCURACY: "accuracy, share", MOVED: "linear CKA, before and after\n(1 = not moved)"}
WITHIN = {ACCURACY: UNIT, MOVED: COSINE}
BROKEN: dict[str, Any] = {"linestyle": (0, (4, 2)), "linewidth": 0.9}
ASIDE = 1.5  # layers, of a mark of what is fine-tuned


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `transfer`; panels such as `tag: frozen accuracy`, `tag:
    fine_tuned accuracy` and `tag: fine_tuned cka_debiased`.

    A broken line across a panel is what is fine-tuned. It reads the top layer, which is its `x`;
    its mark stands right of it.

    Raises NoRowsError if no task has two labels, or none a value.
    """
    if [*tables.get("transfer", NEEDED)] == ["objective", "seed"]:
        raise NoRowsError(
            "of no task in measures.transfer.tasks has this text two labels, as of `origin` where "
            "all sentences are from one source; ask for another task"
        )
    named = table(tables, "transfer", NEEDED).rename(columns={"objective": "series", "layer": "x"})
    measured = named.dropna(subset=["value"]).sort_values("x")
    if measured.empty:
        raise NoRowsError("table 'transfer' has no values; raise measures.transfer.sentences")
    panel = measured["task"] + ": " + measured["weights"] + " " + measured["metric"]
    measured = measured.assign(panel=panel)
    drawn = join(
        [
            points(over_runs(rows, ["panel", "series", "x"], WITHIN[metric]), quantity=metric)
            for metric, rows in measured.groupby("metric", sort=False)
        ]
    )
    tasks = [name for name in TASKS if name in set(measured["task"])]
    figure = Figure(figsize=(3.5 * len(tasks) + 0.6, 5.8), layout="constrained")
    grid = figure.subplots(2, len(tasks), squeeze=False)
    for (above, below), task in zip(grid.T, tasks, strict=True):
        of_task = measured[measured["task"] == task]
        _accuracies(above, of_task[of_task["metric"] == ACCURACY], drawn)
        _moved(below, of_task[of_task["metric"] == MOVED], drawn)
    broken = Line2D([], [], color="black", **BROKEN, label="fine-tuned")
    style.legend(figure, [*style.key(drawn), broken])
    return figure, drawn


def _accuracies(axes: Axes, rows: pd.DataFrame, drawn: pd.DataFrame) -> None:
    task, top = rows["task"].iloc[0], rows["x"].max()
    frozen, tuned = (
        drawn[drawn["panel"] == f"{task}: {weights} {ACCURACY}"]
        for weights in ("frozen", "fine_tuned")
    )
    marks = tuned.assign(x=top + ASIDE)
    style.curves(axes, join([frozen, marks]), style.objective, reach=1)
    for series, y in zip(tuned["series"], tuned["y"], strict=True):
        axes.axhline(y, color=style.objective(series).color, zorder=1, **BROKEN)
    style.layer_axis(axes)
    layers = [*range(0, top + 1, 1 + top // 9)]
    axes.set_xticks([*layers, top + ASIDE], [*map(str, layers), "fine-\ntuned"])
    axes.set_ylabel(LABELS[ACCURACY])
    counts = style.counts(rows, n="example", n_labels="label")
    axes.set_title(f"{TASKS[task]}\n{counts}; nothing seen: {rows['baseline'].mean():.2f}")


def _moved(axes: Axes, rows: pd.DataFrame, drawn: pd.DataFrame) -> None:
    style.curves(axes, drawn[drawn["panel"].isin(rows["panel"])], style.objective)
    style.layer_axis(axes)
    axes.set_ylabel(LABELS[MOVED])
    if len(rows):
        words = f"{style.count(rows['n'], 'word')} of other sentences"
        axes.set_title(f"moved by fine-tuning\n{words}; chance: {rows['null'].mean():.2f}")
