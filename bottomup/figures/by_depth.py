"""The curves of one figure in several studies, over relative depth: so models of different depth
stand side by side. A panel for each model, or each pair of models, of the first study.

Not in the papers.
"""

from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bottomup.figures import pairs, style
from bottomup.figures.points import COLUMNS, NoRowsError, Tables, join, points, table

DEPTH = "relative depth (0 = embeddings, 1 = top)"
BEHIND = style.Look(style.PUBLISHED, "#000000")
IN_A_ROW = 3


@style.paper()
def draw(tables: Tables, studies: list[str], panel: str) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from the points of this `panel` of one figure of each study, in
    their order; the papers' curves are those behind the first study's.

    Raises NoRowsError if the first study has no such points.
    """
    parts = [_over_depth(table(tables, name, COLUMNS), panel) for name in tables]
    every = dict(zip(studies, parts, strict=True))
    first = every[studies[0]]
    shown = list(dict.fromkeys(first.loc[first["source"] == "ours", "series"]))
    if not shown:
        raise NoRowsError(f"the figure of {studies[0]} has no points in its panel {panel!r}")
    ours = {name: rows[rows["source"] == "ours"] for name, rows in every.items()}
    theirs = first[first["source"] == "published"]
    drawn = join(
        [points(rows, panel=rows["series"], series=name) for name, rows in ours.items()]
        + [points(theirs, "published", panel=theirs["series"], series=BEHIND.label)]
    )
    drawn = drawn[drawn["panel"].isin(shown)].reset_index(drop=True)
    return _figure(drawn, shown, _looks(studies)), drawn


def _over_depth(rows: pd.DataFrame, panel: str) -> pd.DataFrame:
    """The points of a panel, with a model's layer as a share of its layers; none if the study has
    none."""
    rows = rows[rows["panel"] == panel]
    top = rows.groupby(["source", "series"])["x"].transform("max")
    return rows.assign(x=rows["x"] / top)


def _looks(studies: list[str]) -> dict[str, style.Look]:
    """The look of each study, from dark to light in their order."""
    places, markers = np.linspace(0, 1, len(studies)), cycle(style.SPARE_MARKERS)
    return {
        name: style.Look(name, style.shade(place), marker)
        for name, place, marker in zip(studies, places, markers, strict=False)
    }


def _figure(drawn: pd.DataFrame, shown: list[str], looks: dict[str, style.Look]) -> Figure:
    rows = style.in_rows(shown, IN_A_ROW)
    columns = max(map(len, rows))
    figure = Figure(figsize=(3.2 * columns + 0.4, 2.8 * len(rows) + 0.4), layout="constrained")
    grid = figure.subplots(len(rows), columns, sharex=True, sharey=True, squeeze=False)
    for axes, model in zip(grid.flat, shown, strict=False):
        _panel(axes, drawn[drawn["panel"] == model], looks)
        axes.set_title((pairs.look if "-" in model else style.objective)(model).label)
    for axes in grid.flat[len(shown) :]:
        axes.remove()
    for row in grid:
        row[0].set_ylabel(drawn["quantity"].iloc[0])
    ours = drawn[drawn["source"] == "ours"]
    handles = style.key(ours, {name: looks[name] for name in looks if name in set(ours["series"])})
    if len(ours) < len(drawn):
        handles.append(Line2D([], [], label=BEHIND.label, **style.stroke(BEHIND, behind=True)))
    style.legend(figure, handles)
    return figure


def _panel(axes: Axes, shown: pd.DataFrame, looks: dict[str, style.Look]) -> None:
    style.curves(axes, shown, lambda name: looks.get(name, BEHIND), beside=1)
    axes.set_xlabel(DEPTH)
