"""What runs have learned after so many updates: a panel for each measure, a line for each
objective.

Not in the papers; the question is that of Chen et al. (2024) and Gisserot-Boukhlef et al. (2025).
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bottomup.figures import steps, style
from bottomup.figures.means import over_layers, over_runs
from bottomup.figures.points import Tables, join, points, table
from bottomup.measures.jackknife import UNIT, WITHOUT

PLACE = ["objective", "seed"]


@dataclass(frozen=True)
class Learned:
    """What is drawn of a table.

    value: its column. where: the rows, by column. level: a column with what is reached without a
    model, or the rows that say it, and `called` its name.
    """

    title: str
    quantity: str
    value: str
    where: dict[str, str]
    level: str | dict[str, str]
    called: str


LEARNED = {
    "probes": Learned(
        "parts of speech",
        "accuracy of a linear classifier",
        "value",
        {"task": "tag", "metric": "accuracy"},
        "baseline",
        "nothing seen",
    ),
    "structural_probe": Learned(
        "syntax trees",
        "edges found (UUAS), share",
        "value",
        {"metric": "uuas"},
        "chain",
        "chain",
    ),
    "agreement": Learned(
        "verbs that agree",
        "accuracy, the verb alone",
        "accuracy",
        {"by": "model", "score": "verb", "attractors": "all", "number": "both"},
        {"by": "5-grams", "score": "verb", "attractors": "all", "number": "both"},
        "5-grams",
    ),
}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from those of `probes`, `structural_probe` and `agreement` that
    there are, of runs at steps and at their end, and a table of metrics for each run, named
    `objective-seed`.

    Values by layer are means over the layers from 1 up. The end is drawn at the step of the lowest
    dev loss, whose weights a run ends with, mean over seeds. Raises NoRowsError if no run at a step
    has a value.
    """
    drawn = join([_points(tables, name) for name in LEARNED if len(tables.get(name, ()))])
    lacking = f"no table of {', '.join(LEARNED)} has a value of a run at a step"
    drawn, _ = steps.with_ends(tables, drawn, "series", lacking)
    return _figure(tables, drawn), drawn


def _points(tables: Tables, name: str) -> pd.DataFrame:
    """The points of one panel; `x` is NaN at the end."""
    learned = LEARNED[name]
    needed = [*PLACE, *learned.where, learned.value, "ci_low", "ci_high", WITHOUT]
    rows = _where(table(tables, name, needed), learned.where)
    rows = rows.rename(columns={learned.value: "value"})
    if "layer" in rows:
        rows = over_layers(rows[rows["layer"] > 0], PLACE, UNIT)
    at = steps.at(rows["objective"])
    rows = rows.assign(series=at["panel"], x=at["x"]).fillna({"x": np.inf})
    means = over_runs(rows, ["series", "x"], UNIT).replace({"x": {np.inf: np.nan}})
    return points(means, panel=name, quantity=learned.quantity)


def _where(rows: pd.DataFrame, wanted: dict[str, str]) -> pd.DataFrame:
    return rows[rows[[*wanted]].eq(pd.Series(wanted)).all(axis="columns")]


def _figure(tables: Tables, drawn: pd.DataFrame) -> Figure:
    shown = [name for name in LEARNED if name in set(drawn["panel"])]
    figure = Figure(figsize=(3.6 * len(shown) + 0.5, 3.3), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        part, learned = drawn[drawn["panel"] == name], LEARNED[name]
        style.curves(axes, part, style.objective, reach=np.inf)
        _level(axes, tables[name], learned)
        steps.axis(axes, drawn["x"])
        axes.set_xlabel("updates")
        axes.set_ylabel(learned.quantity)
        axes.set_title(learned.title)
    style.legend(figure, style.key(drawn))
    return figure


def _level(axes: Axes, rows: pd.DataFrame, learned: Learned) -> None:
    """What is reached without a model, where the table has it."""
    if isinstance(learned.level, str):
        values = _where(rows, learned.where)[learned.level]
    else:
        values = _where(rows, learned.level)[learned.value]
    if values.notna().any():
        style.level(axes, values.mean(), learned.called)
