"""How heads close while a model is pruned: maps of open probability at some steps of one run.

Source: heads, section 6.1; the authors' post animates such maps of the encoder.
"""

import numpy as np
import pandas as pd
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from bottomup.figures import heads, style
from bottomup.figures.points import Tables, join, points, select

NEEDED = [*heads.MODEL, "step", "kind", "layer", "head", "open_probability", "kept"]
MAPS = 6
SHARE = 1 / 3  # of heads kept
HEAD = ["kind", "layer", "head"]


@style.paper()
def draw(tables: Tables, objective: str, attention: str) -> tuple[Figure, pd.DataFrame]:
    """The figure of one run, and its points, from `gates`.

    The run has `objective`, gates on `attention`, the lowest seed and the penalty that keeps
    closest to a third of the heads. `x` is the place of a head in its layer by mean open
    probability, highest first. The points with quantity `kept` are the heads that are kept in the
    end.
    """
    wanted = {"objective": objective, "attention": attention, "method": "gates"}
    rows = select(tables, "gates", NEEDED, **wanted)
    rows = heads.first_seed(rows)
    rows = _in_place(rows[rows["penalty"] == _telling(rows)])
    steps = sorted(rows["step"].unique())
    places = np.linspace(0, len(steps) - 1, MAPS).round().astype(int)  # evenly, both ends too
    chosen = [steps[place] for place in dict.fromkeys(places.tolist())]
    drawn = _points(rows[rows["step"].isin(chosen)])
    figure = _figure(rows, drawn, chosen)
    label = style.objective(objective).label
    figure.suptitle(f"{label}, penalty {rows['penalty'].iloc[0]:g}", x=0.01, ha="left", fontsize=9)
    return figure, drawn


def _telling(rows: pd.DataFrame) -> float:
    """The penalty that shows most: with fewer or more heads, all layers look the same."""
    last = rows[rows["step"] == rows.groupby("penalty")["step"].transform("max")]
    return (last.groupby("penalty")["kept"].mean() - SHARE).abs().idxmin()


def _in_place(rows: pd.DataFrame) -> pd.DataFrame:
    mean = rows.groupby(HEAD)["open_probability"].mean().rename("mean").reset_index()
    mean = mean.sort_values("mean", ascending=False, kind="stable")
    mean["place"] = mean.groupby(["kind", "layer"]).cumcount() + 1
    return rows.merge(mean, on=HEAD)


def _points(rows: pd.DataFrame) -> pd.DataFrame:
    panels = rows["kind"] + ", step " + rows["step"].astype(str)
    rows = rows.assign(panel=panels, series=heads.layers(rows["layer"]), x=rows["place"])
    rows = rows.sort_values(["step", "kind", "layer", "x"])
    kept = rows[rows["kept"] & (rows["step"] == rows["step"].max())]
    return join(
        [
            points(rows.assign(y=rows["open_probability"]), quantity="open probability"),
            points(kept.assign(y=1), quantity="kept"),
        ]
    )


def _figure(rows: pd.DataFrame, drawn: pd.DataFrame, steps: list[int]) -> Figure:
    kinds = [kind for kind in style.KINDS if kind in set(rows["kind"])]
    width, height = heads.size(drawn)
    size = ((width + 0.12) * len(steps) + 1.2, (height + 0.3) * len(kinds) + 0.5)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(kinds), len(steps), squeeze=False)
    norm = Normalize(0, 1)
    for kind, row in zip(kinds, panels, strict=True):
        for step, axes in zip(steps, row, strict=True):
            shown = drawn[drawn["panel"] == f"{kind}, step {step}"]
            heads.paint(axes, shown[shown["quantity"] == "open probability"], norm)
            kept = shown[shown["quantity"] == "kept"]
            axes.plot(kept["x"], heads.numbers(kept["series"]), "o", color="white", markersize=2.2)
        for axes in row[1:]:
            axes.tick_params(labelleft=False)
        row[0].set_ylabel(f"{kind}\nlayer")
        row[-1].set_xlabel(f"{len(kept)} of {shown['quantity'].ne('kept').sum()} kept")
    for step, axes in zip(steps, panels[0], strict=True):
        axes.set_title(f"step {step:,}")
    shades = ScalarMappable(norm, heads.SHADES)
    figure.colorbar(shades, ax=figure.axes, label="open probability", pad=0.01, aspect=20)
    return figure
