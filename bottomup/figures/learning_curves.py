"""Training and dev loss of every run against the number of tokens read."""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bottomup.core.errors import UserError
from bottomup.core.names import objective_and_seed
from bottomup.figures import style
from bottomup.figures.points import Tables, join, points, table

COLUMNS = 4
LOSSES = {"train loss": "train_loss_nats", "dev loss": "dev_loss_nats"}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from a table of metrics for each run, named `objective-seed`."""
    if not tables:
        raise UserError("no metrics; a learning curve needs those of a run; give them")
    drawn = join([_points(tables, run) for run in tables])
    objectives = style.ordered(drawn["panel"])
    rows = math.ceil(len(objectives) / COLUMNS)
    columns = math.ceil(len(objectives) / rows)
    figure = Figure(figsize=(2.6 * columns + 0.5, 2.5 * rows + 0.4), layout="constrained")
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False)
    for axes, name in zip(panels.flat, objectives, strict=False):
        _panel(axes, drawn[drawn["panel"] == name], style.objective(name))
    for axes in panels.flat[len(objectives) :]:
        axes.remove()
    for axes in panels[:, 0]:
        axes.set_ylabel("loss, nats per predicted token")
    handles = [
        Line2D([], [], color=style.GRAY, linewidth=1, label="dev, one line a seed"),
        Line2D([], [], color=style.light(style.GRAY), linewidth=0.7, label="train"),
    ]
    style.legend(figure, handles)
    return figure, drawn


def _points(tables: Tables, run: str) -> pd.DataFrame:
    metrics = table(tables, run, ["tokens", *LOSSES.values()])
    objective, _ = objective_and_seed(run)
    return join(
        [
            points(
                metrics.rename(columns={"tokens": "x", column: "y"}).dropna(subset="y"),
                panel=objective,
                series=run,
                quantity=quantity,
            )
            for quantity, column in LOSSES.items()
        ]
    )


def _panel(axes: Axes, shown: pd.DataFrame, look: style.Look) -> None:
    for (quantity, _), curve in shown.groupby(["quantity", "series"], sort=False):
        dev = quantity == "dev loss"
        color = look.color if dev else style.light(look.color)
        marker = "." if len(curve) == 1 else ""  # a single evaluation is no line
        width = 1 if dev else 0.6
        axes.plot(curve["x"], curve["y"], color=color, linewidth=width, marker=marker)
    axes.set_title(look.label)
    axes.set_xlabel("source tokens read, millions")
    axes.xaxis.set_major_formatter(lambda tokens, _: f"{tokens / 1e6:g}")
