"""Attention heads in figures: maps of layers x heads, functions of heads, and heads kept."""

from collections.abc import Callable

import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from bottomup.core.kinds import GATED
from bottomup.figures import style
from bottomup.figures.points import Tables, over_seeds, select

RELEVANCE = "relevance_alpha_beta"
# Low values are nearly white, so that high values also stand out in gray print.
SHADES = colormaps["YlGnBu"]
CELL = 0.17  # inches, of a map without text
BESIDE = 1.5  # typographic points between two series: x counts heads, so hardly more than a bar
APART = 1 / 3  # of all heads: between models further apart nothing is known
HEAD = ["objective", "seed", "attention", "layer", "head"]
RARE = ("rarest", "two_rarest")
MODEL = ["objective", "seed", "attention", "method", "penalty"]  # columns that name a pruned model
PRUNED = {name: f"{name} pruned" for name in GATED} | {"all": "all attention pruned"}


def first_seed(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of each objective's lowest seed: heads of two seeds have nothing in common."""
    return rows[rows["seed"] == rows.groupby("objective")["seed"].transform("min")]


def by_relevance(importance: pd.DataFrame) -> pd.DataFrame:
    """Heads with their `relevance` and their `place` in the layer, 1 for the most relevant."""
    heads = importance.loc[importance["importance"] == RELEVANCE, [*HEAD, "value"]]
    heads = heads.sort_values([*HEAD[:-1], "value", "head"], ascending=[True] * 4 + [False, True])
    place = heads.groupby(HEAD[:-1]).cumcount() + 1
    return heads.rename(columns={"value": "relevance"}).assign(place=place)


def of_even_share(shown: pd.DataFrame) -> pd.DataFrame:
    """Points of a map whose `y` is a share of the layer (`series`) as multiples of the share that
    each head of the layer would have if all had the same: so layers of few and of many heads
    compare."""
    return shown.assign(y=shown["y"] * shown.groupby(["panel", "series"])["y"].transform("count"))


def layers(numbers: pd.Series) -> pd.Series:
    """Names of layers, as in the published maps."""
    return "layer " + numbers.astype(str)


def numbers(layers: pd.Series) -> pd.Series:
    """The numbers of layers, from their names."""
    return layers.str.removeprefix("layer ").astype(int)


def panel(objective: str, attention: str) -> str:
    """The name of the panel of an objective's heads of one kind of attention."""
    return f"{objective}, {attention}"


def with_panel(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, each with the name of its `panel`."""
    names = [panel(row.objective, row.attention) for row in rows.itertuples()]
    return rows.assign(panel=names)


def panels(rows: pd.DataFrame) -> list[str]:
    """The names of the panels of rows, in the papers' order."""
    pairs = {(row.objective, row.attention) for row in rows.itertuples()}
    return [
        panel(objective, attention)
        for objective in style.ordered(objective for objective, _ in pairs)
        for attention in GATED
        if (objective, attention) in pairs
    ]


def title(name: str, names: list[str], words: dict[str, str] | None = None) -> str:
    """The title of the panel `name`; it names the attention, in `words`, if its objective has
    several."""
    objective, attention = name.split(", ")
    label = style.objective(objective).label
    alone = sum(other.startswith(f"{objective}, ") for other in names) == 1
    return label if alone else f"{label}, {(words or {}).get(attention, attention)}"


def function_kind(function: str) -> str:
    """positional, syntactic or rare."""
    if function == "positional":
        return function
    return "rare" if function in RARE else "syntactic"


def last_gates(tables: Tables, **wanted: str) -> pd.DataFrame:
    """The rows of `gates` at the last step of each model: which heads it keeps."""
    columns = [*MODEL, "step", "kind", "layer", "head", "kept"]
    rows = select(tables, "gates", columns, **wanted)
    return rows[rows["step"] == rows.groupby(MODEL)["step"].transform("max")]


def over_penalties(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Mean `x` and `y` over the seeds of each penalty, and the range of `y`; sorted by `x`.

    Seeds keep different numbers of heads under one penalty, so `x` is also a mean.
    """
    by = [*by, "penalty"]
    mean = rows.groupby(by, sort=False)["x"].mean().reset_index()
    return over_seeds(rows, "y", by).merge(mean, on=by).sort_values("x", kind="stable")


def curves(
    axes: Axes,
    shown: pd.DataFrame,
    look: Callable[[str], style.Look],
    total: Callable[[pd.DataFrame], float],
) -> None:
    """Draw curves by the number of heads, ours and the published ones; models between which more
    than `APART` of the heads lie are not joined.

    total: the number of all heads of the whole model, from the points of one source.
    """
    for _, part in shown.groupby("source"):
        style.curves(axes, part, look, reach=APART * total(part), beside=BESIDE)


def active(axes: Axes, shown: pd.DataFrame, look: Callable[[str], style.Look], label: str) -> None:
    """One panel of active heads by the number of pruned ones, which are called `label`."""
    curves(axes, shown, look, whole)
    axes.set_xlabel(label)
    for axis in (axes.xaxis, axes.yaxis):
        style.whole_numbers(axis)
    axes.set_ylim(bottom=-0.02 * axes.get_ylim()[1])


def from_all_to_none(axes: Axes, most: float, label: str) -> None:
    """An axis of the number of heads kept, as in the paper from the whole model to no heads."""
    axes.set_xlim(1.04 * most, -0.03 * most)
    style.whole_numbers(axes.xaxis)
    axes.set_xlabel(label)


def whole(points: pd.DataFrame) -> float:
    """The number of all heads, from points of the pruned (`x`) and the active ones by series
    (`y`)."""
    of_series = points.groupby(["x", "series"])["y"].mean()  # two models may have as many pruned
    active = of_series.groupby("x").sum()
    return (active + active.index).max()


def size(shown: pd.DataFrame, cell: float = CELL) -> tuple[float, float]:
    """Width and height in inches of a map of these points, no narrower than its title."""
    return max(1.3, cell * shown["x"].max()), max(0.6, cell * numbers(shown["series"]).max())


def grid(axes: Axes, n_layers: int, n_heads: int) -> None:
    """Axes of a map, the top layer on top."""
    axes.set(xlim=(0.5, n_heads + 0.5), ylim=(0.5, n_layers + 0.5), xticks=[])
    style.whole_numbers(axes.yaxis)
    style.cells(axes)


def paint(axes: Axes, shown: pd.DataFrame, norm: Normalize) -> None:
    """Draw the map of points: `series` is the layer, `x` the head from 1, `y` the value.

    Heads without a value stay white.
    """
    values = shown.assign(layer=numbers(shown["series"])).pivot(
        index="layer", columns="x", values="y"
    )
    n_layers, n_heads = int(values.index.max()), int(values.columns.max())
    values = values.reindex(range(1, n_layers + 1)).reindex(range(1, n_heads + 1), axis=1)
    edges = ([place + 0.5 for place in range(n + 1)] for n in (n_heads, n_layers))
    cells = values.to_numpy(dtype=float)
    axes.pcolormesh(*edges, cells, norm=norm, cmap=SHADES, edgecolors="white", linewidth=0.4)
    grid(axes, n_layers, n_heads)
