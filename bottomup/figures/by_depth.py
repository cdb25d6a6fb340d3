"""The curves of one figure in several studies, over relative depth: so models of different depth
stand side by side. A panel for each model, or each pair of models, of the first study.

Not in the papers.
"""

from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bottomup.figures import distance_between_tasks, information, layout, pairs, style
from bottomup.figures.points import COLUMNS, NoRowsError, Tables, join, points, table

DEPTH = "relative depth (0 = embeddings, 1 = top)"
BEHIND = style.Look(style.PUBLISHED, "#000000")
# By figure: which of its curves, and what they are called beside the axis.
QUANTITIES = {
    "mutual_information_input": (
        information.CHANGE,
        f"{information.CHANGE}\nwith the input token, nats",
    ),
    "distance_between_tasks": (distance_between_tasks.QUANTITY, style.DISTANCE),
}


@style.paper()
def draw(
    tables: Tables, studies: list[str], figure: str, panel: str
) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from the points of this `panel` of a `figure`, one of
    `QUANTITIES`, of each study, in their order; the papers' curves are those behind the first
    study's.

    Raises NoRowsError if the first study has no such points.
    """
    quantity, label = QUANTITIES[figure]
    parts = [_over_depth(table(tables, name, COLUMNS), panel, quantity) for name in tables]
    every = dict(zip(studies, parts, strict=True))
    first = every[studies[0]]
    models = set(first.loc[first["source"] == "ours", "series"])
    if not models:
        raise NoRowsError(f"{figure} of {studies[0]} has no points in its panel {panel!r}")
    ours = {name: rows[rows["source"] == "ours"] for name, rows in every.items()}
    theirs = first[first["source"] == "published"]
    drawn = join(
        [points(rows, panel=rows["series"], series=name) for name, rows in ours.items()]
        + [points(theirs, "published", panel=theirs["series"], series=BEHIND.label)]
    )
    drawn = drawn[drawn["panel"].isin(models)].reset_index(drop=True)
    return _figure(drawn, _titles(models), label, _looks(studies)), drawn


def _titles(models: set[str]) -> dict[str, str]:
    """The titles of models, or of pairs of them, in the order of other figures."""
    if any("-" in name for name in models):
        return {name: look.label for name, look in pairs.looks(pd.Series([*models])).items()}
    return {name: style.objective(name).label for name in style.ordered(models)}


def _over_depth(rows: pd.DataFrame, panel: str, quantity: str) -> pd.DataFrame:
    """The points of a panel, with a model's layer as a share of its layers; none if the study has
    none."""
    rows = rows[(rows["panel"] == panel) & (rows["quantity"] == quantity)]
    top = rows.groupby(["source", "series"])["x"].transform("max")
    return rows.assign(x=rows["x"] / top)


def _looks(studies: list[str]) -> dict[str, style.Look]:
    """The look of each study, from dark to light in their order."""
    places, markers = np.linspace(0, 1, len(studies)), cycle(style.SPARE_MARKERS)
    return {
        name: style.Look(name, style.shade(place), marker)
        for name, place, marker in zip(studies, places, markers, strict=False)
    }


def _figure(
    drawn: pd.DataFrame, titles: dict[str, str], label: str, looks: dict[str, style.Look]
) -> Figure:
    figure, rows = layout.grid(titles, {label: label}, 3.2, [2.8], (0.4, 0.4))
    for _, panels in rows:
        for model, axes in panels.items():
            shown = drawn[drawn["panel"] == model]
            style.curves(axes, shown, lambda name: looks.get(name, BEHIND), beside=1)
            axes.set_xlabel(DEPTH)
    ours = drawn[drawn["source"] == "ours"]
    handles = style.key(ours, {name: looks[name] for name in looks if name in set(ours["series"])})
    if len(ours) < len(drawn):
        handles.append(Line2D([], [], label=BEHIND.label, **style.stroke(BEHIND, behind=True)))
    style.legend(figure, handles)
    return figure
