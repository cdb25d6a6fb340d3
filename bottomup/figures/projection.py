"""Occurrences of a few words in two dimensions: a row for each objective, a column for each layer.

Source: evolution, the t-SNE pictures by token, by position and by CCG tag.
"""

from itertools import product
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bottomup.figures import style
from bottomup.figures.heads import first_seed
from bottomup.figures.points import NoRowsError, Tables, points, table

NEEDED = [
    *("objective", "seed", "picture", "layer", "x", "y", "token", "kind", "position", "ccg"),
    "ccg_source",
]
COLORS = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000"]
OTHERS = "#c8c8c8"
ALL_OTHERS = "all others"  # no word has a blank, so none is called so
SHADES = matplotlib.colormaps["viridis_r"]
MARKS: dict[str, dict[str, Any]] = {
    "plain": {"marker": "o", "s": 4, "linewidths": 0},
    "masked": {"marker": "x", "s": 9, "linewidths": 0.7},
}
INCHES = 1.28  # of a panel


@style.paper()
def draw(tables: Tables, picture: str) -> tuple[Figure, pd.DataFrame]:
    """The figure of one picture, and its points, from `projection`.

    `picture` is `token`, `position` or `ccg`; it also colors the points. Only the lowest seed is
    shown. The axes have no unit.

    Raises NoRowsError if words had too few occurrences for the picture.
    """
    projected = table(tables, "projection", NEEDED)
    rows = first_seed(projected[projected["picture"] == picture])
    if rows.empty:
        raise NoRowsError(f"words had too few occurrences for the picture by {picture}")
    objectives, layers = style.ordered(rows["objective"]), sorted(rows["layer"].unique())
    size = (INCHES * len(layers) + 0.5, INCHES * len(objectives) + 0.5)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(objectives), len(layers), squeeze=False)
    scattered = _in_drawing_order(rows.assign(color=_colors(rows, picture)))
    by_panel = dict(list(scattered.groupby(["objective", "layer"])))
    for (objective, layer), axes in zip(product(objectives, layers), grid.flat, strict=True):
        _panel(axes, by_panel.get((objective, layer)))
    for layer, axes in zip(layers, grid[0], strict=True):
        axes.set_title(f"layer {layer}", loc="center")
    for objective, axes in zip(objectives, grid[:, 0], strict=True):
        # On two lines where one would be longer than the panel.
        axes.set_ylabel(style.objective(objective).label.replace(", ", ",\n"))
    if picture == "position":
        _scale(figure, rows)
    else:
        _legend(figure, rows, picture)
    panels = rows["objective"] + ", layer " + rows["layer"].astype(str)
    return figure, points(rows.assign(panel=panels, series=rows[picture], quantity=rows["kind"]))


def _colors(rows: pd.DataFrame, picture: str) -> pd.Series:
    if picture == "position":
        norm = _positions(rows)
        return rows["position"].map(lambda position: to_hex(SHADES(norm(position))))
    return rows[picture].map(_palette(rows[picture])).fillna(OTHERS)


def _positions(rows: pd.DataFrame) -> Normalize:
    # Otherwise a few very long sentences would leave all others in one shade.
    return Normalize(0, max(1, rows["position"].quantile(0.98)), clip=True)


def _palette(values: pd.Series) -> dict[str, str]:
    """Colors of the most frequent values, the most frequent first."""
    return dict(zip(values.value_counts().index, COLORS, strict=False))


def _in_drawing_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Gray points lie below; otherwise neither word nor text decides which point covers which."""
    mixed = rows.iloc[np.random.default_rng(1).permutation(len(rows))]
    return mixed.sort_values("color", key=lambda colors: colors != OTHERS, kind="stable")


def _panel(axes: Axes, shown: pd.DataFrame | None) -> None:
    if shown is None:
        style.say(axes, "has no such layer")
    for kind, of in () if shown is None else shown.groupby("kind"):
        axes.scatter(of["x"], of["y"], c=list(of["color"]), rasterized=True, **MARKS[kind])
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(visible=True, color=style.GRAY, linewidth=0.5)


def _scale(figure: Figure, rows: pd.DataFrame) -> None:
    words = ", ".join(rows["token"].unique())
    label = f"position of “{words}” in its sentence, {style.count(_shown(rows), 'occurrence')}"
    shades = ScalarMappable(_positions(rows), SHADES)
    figure.colorbar(shades, ax=figure.axes, label=label, extend="max", aspect=40, pad=0.01)


def _legend(figure: Figure, rows: pd.DataFrame, picture: str) -> None:
    plain, masked = (rows[rows["kind"] == kind] for kind in ("plain", "masked"))
    palette = _palette(rows[picture])
    names = plain[picture].where(plain[picture].isin(list(palette)), ALL_OTHERS)
    handles = [
        _mark(
            "plain",
            palette.get(name, OTHERS),
            f"{name} ({style.count(_shown(plain[names == name]))})",
        )
        for name in [*palette, *({ALL_OTHERS} & set(names))]
    ]
    if len(masked):
        handles.append(_mark("masked", style.GRAY, f"masked ({style.count(_shown(masked))})"))
    title = _ccg(rows) if picture == "ccg" else None
    style.legend(figure, handles, columns=5, title=title)


def _ccg(rows: pd.DataFrame) -> str:
    words = ", ".join(rows["token"].unique())
    return f"CCG category of “{words}”, {style.ccg(rows['ccg_source'])} (occurrences)"


def _shown(rows: pd.DataFrame) -> pd.Series:
    """How many points of `rows` each panel shows; all are equal, since all runs see the same
    data."""
    return rows.groupby(["objective", "layer"]).size()


def _mark(kind: str, color: str, label: str) -> Line2D:
    marker = MARKS[kind]["marker"]
    return Line2D([], [], color=color, label=label, marker=marker, linestyle="", markersize=4)
