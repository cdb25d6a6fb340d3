"""What layers say of a text whose language is known, by estimators, beside what is exact.

A column for each objective and reading, with its loss above; a row for each thing to know. Not in
the papers.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bottomup.figures import style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, having, join, points, table
from bottomup.figures.style import Look
from bottomup.measures.jackknife import ANY, NOT_NEGATIVE, WITHOUT

NEEDED = [
    *("objective", "seed", "layer", "quantity", "reading", "about", "estimator", "knows"),
    *("nats", "ci_low", "ci_high", WITHOUT, "entropy_nats", "n"),
]
LOOKS = {
    "read": Look("exact: all that it has read", "black", "", "-"),
    "word": Look("exact: the word alone", style.GRAY, "", (0, (3, 1.5))),
    "classifier": Look("linear classifier", "#0072B2", "o"),
    "clusters": Look("clusters", "#E69F00", "^"),
}
ABOUT = {
    "state": "hidden state",
    "word": "word",
    "recoded": "its translation",
    "next": "next word",
    "previous": "previous word",
}
READINGS = {"plain": "", "as_trained": ", masked words"}
WITHIN = {"clusters": NOT_NEGATIVE}  # others may be below what there is, and below 0


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `exact`."""
    every = table(tables, "exact", NEEDED).rename(columns={"nats": "value", "layer": "x"})
    losses = every[every["quantity"] == "loss"]
    losses = over_runs(losses.assign(panel=losses["objective"]), ["panel", "estimator"], ANY)
    drawn = _of_layers(having(every, "exact", quantity="information"))
    columns = [
        (name, reading)
        for name in style.ordered(every["objective"])
        for reading in READINGS
        if _name(name, reading, "word") in set(drawn["panel"])
    ]
    size = (1.2 + 1.75 * len(columns), 0.9 + 1.45 * len(ABOUT))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(ABOUT), len(columns), sharex=True, sharey="row", squeeze=False)
    for row, about in zip(grid, ABOUT, strict=True):
        for axes, column in zip(row, columns, strict=True):
            _panel(axes, drawn[drawn["panel"] == _name(*column, about)])
        row[0].set_ylabel(f"{ABOUT[about]}\nnats")
    for axes, (name, reading) in zip(grid[0], columns, strict=True):
        _head(axes, name, reading, losses[losses["panel"] == name])
    for axes in grid[-1]:
        style.layer_axis(axes, "layer")
    style.legend(figure, style.key(drawn, LOOKS))
    shown = losses.rename(columns={"estimator": "series"})
    return figure, join([drawn, points(shown, quantity="loss, nats")])


def _name(objective: str, reading: str, about: str) -> str:
    """That of a panel."""
    return f"{objective}, {reading}: {about}"


def _panel(axes: Axes, shown: pd.DataFrame) -> None:
    if shown.empty:  # the translation of a masked word
        axes.set_axis_off()
        return
    style.across(axes)
    # Lines that stand side by side would not end together.
    style.curves(axes, shown, LOOKS.__getitem__, beside=0)


def _of_layers(rows: pd.DataFrame) -> pd.DataFrame:
    """The points of all panels; what is exact stands at every layer."""
    panels = [_name(*of) for of in rows[["objective", "reading", "about"]].itertuples(index=False)]
    knows = rows["knows"].where(rows["knows"] == "word", "read")
    is_exact = rows["estimator"] == "exact"
    rows = rows.assign(panel=panels, series=rows["estimator"].where(~is_exact, knows))
    layers = rows[["panel", "x"]].dropna().drop_duplicates()
    everywhere = rows[is_exact].drop(columns="x").merge(layers, on="panel")
    every = pd.concat([everywhere, rows[~is_exact]]).astype({"x": float}).sort_values("x")
    curves = pd.concat(
        over_runs(of, ["panel", "series", "x"], WITHIN.get(name, ANY))
        for name, of in every.groupby("series", sort=False)
    )
    # What is exact moves with the text, and the estimates with it.
    curves.loc[curves["series"].isin(["read", "word"]), ["low", "high"]] = float("nan")
    return points(curves, quantity="information, nats")


def _head(axes: Axes, objective: str, reading: str, losses: pd.DataFrame) -> None:
    """The name of a column, and how far the loss is above the least."""
    name = f"{style.objective(objective).label}{READINGS[reading]}"
    nats = losses.set_index("estimator")["y"]
    if "excess" in nats:
        name += f"\nloss {nats['model']:.3f}\nleast {nats['exact']:.3f}"
    axes.set_title(name)
