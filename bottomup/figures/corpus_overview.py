"""The corpus: what cleaning drops, the splits, sentence lengths and token frequencies."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from bottomup.figures import style
from bottomup.figures.points import Tables, join, points, table

SIDES = ["source", "target"]
SHIFTS = {1: [0.0], 2: [-0.2, 0.2]}  # by the number of bars side by side
CURVE_POINTS = 300
HATCHES = ["", "////", "....", "xxxx", "----", "oooo", "||||"]  # of origins, in their order


@style.paper()
def draw(tables: Tables, n_tokens: int) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `cleaning`, `splits` and `frequencies`.

    `n_tokens` is the number of most frequent tokens on which mutual information is measured, if it
    is; all that the text has if these are fewer.
    """
    cleaning = table(tables, "cleaning", ["origin", "step", "dropped", "remaining"])
    splits = table(tables, "splits", ["split", "origin", "pairs", "source_words"])
    frequencies = table(tables, "frequencies", ["rank", "count"])
    sides = [side for side in SIDES if f"{side}_words" in splits]
    unit = "pairs" if len(sides) == 2 else "sentences"
    of_splits = _splits(splits, sides, unit)
    drawn = join([_cleaning(cleaning, unit), *of_splits, *_frequencies(frequencies, n_tokens)])
    figure = Figure(figsize=(7.6, 5.2), layout="constrained")
    axes = figure.subplot_mosaic([["cleaning", "words"], ["lengths", "frequencies"]])
    for panel, draw_panel in PANELS.items():
        draw_panel(axes[panel], drawn[drawn["panel"] == panel])
    return figure, drawn


def _cleaning(cleaning: pd.DataFrame, unit: str) -> pd.DataFrame:
    rows = cleaning.melt(["origin", "step"], ["remaining", "dropped"], "kind", "y")
    rows["series"] = rows["kind"] + ", " + rows["origin"]
    return points(rows.rename(columns={"step": "x"}), panel="cleaning", quantity=unit)


def _splits(splits: pd.DataFrame, sides: list[str], unit: str) -> list[pd.DataFrame]:
    rows = splits.rename(columns={"split": "x"})
    pairs = rows.assign(series=rows["origin"], y=rows["pairs"])
    parts = [points(pairs, panel="words", quantity=unit)]
    whole = rows.groupby("x", sort=False, as_index=False).sum(numeric_only=True)
    for side in sides:
        words = rows.assign(series=f"{side}, " + rows["origin"], y=rows[f"{side}_words"])
        lengths = whole.assign(series=side, y=whole[f"{side}_words"] / whole["pairs"])
        parts += [
            points(words, panel="words", quantity="words"),
            points(lengths, panel="lengths", quantity="words per sentence"),
        ]
    return parts


def _frequencies(frequencies: pd.DataFrame, n_tokens: int) -> list[pd.DataFrame]:
    ordered = frequencies.sort_values("rank")
    # On a log axis points in the tail overlap, so evenly spaced ranks are enough.
    places = np.geomspace(1, len(ordered), CURVE_POINTS).round().astype(int) - 1
    curve = ordered.iloc[np.unique(places)].rename(columns={"rank": "x", "count": "y"})
    counts = ordered["count"]
    n = min(n_tokens, int((counts > 0).sum()))
    share = pd.DataFrame({"x": [n], "y": [counts.head(n).sum() / counts.sum()]})
    return [
        points(curve, panel="frequencies", quantity="occurrences"),
        points(share, panel="frequencies", quantity="share of occurrences"),
    ]


def _draw_cleaning(axes: Axes, shown: pd.DataFrame) -> None:
    remaining, dropped = (_of(shown, kind) for kind in ("remaining", "dropped"))
    steps = shown["x"].unique()
    ends = _stack(axes.barh, range(len(steps)), remaining, style.SIDES["source"])
    _stack(axes.barh, range(len(steps)), dropped, style.DROPPED, start=ends)
    counts = dropped.groupby("x")["y"].sum()
    names = [f"{step}, −{counts[step]:,.0f}" if counts[step] else step for step in steps]
    axes.set_yticks(range(len(steps)), [name.replace("_", " ") for name in names])
    axes.invert_yaxis()
    axes.set_title("cleaning")
    _thousands(axes.xaxis, shown["quantity"].iloc[0].replace("pairs", "sentence pairs"))
    handles = [
        Patch(facecolor=style.SIDES["source"], hatch=hatch, edgecolor="white", label=origin)
        for origin, hatch in zip(_origins(remaining), cycle(HATCHES), strict=False)
    ]
    _key_above(axes, [*handles, Patch(color=style.DROPPED, label="dropped at this step")])


def _draw_words(axes: Axes, shown: pd.DataFrame) -> None:
    words = shown[shown["quantity"] == "words"]
    places = np.arange(words["x"].nunique())
    sides = [side for side in SIDES if len(_of(words, side))]
    for shift, side in zip(SHIFTS[len(sides)], sides, strict=True):
        _stack(axes.bar, places + shift, _of(words, side), style.SIDES[side], thickness=0.38)
    sizes = shown[shown["quantity"] != "words"]
    unit, counts = sizes["quantity"].iloc[0], sizes.groupby("x", sort=False)["y"].sum()
    axes.set_xticks(places, [f"{split}\n{count:,.0f} {unit}" for split, count in counts.items()])
    axes.set_title("words per split")
    _thousands(axes.yaxis, "words")
    _key_of_sides(axes, sides)


def _draw_lengths(axes: Axes, shown: pd.DataFrame) -> None:
    places = np.arange(shown["x"].nunique())
    sides = shown["series"].unique()
    for shift, side in zip(SHIFTS[len(sides)], sides, strict=True):
        heights = shown.loc[shown["series"] == side, "y"]
        axes.bar(places + shift, heights, width=0.38, color=style.SIDES[side])
    axes.set_xticks(places, shown["x"].unique())
    axes.set_title("sentence length")
    _key_of_sides(axes, sides)
    axes.set_ylabel("words per sentence, mean")


def _draw_frequencies(axes: Axes, shown: pd.DataFrame) -> None:
    curve = shown[shown["quantity"] == "occurrences"]
    share = shown[shown["quantity"] == "share of occurrences"].iloc[0]
    axes.axvspan(1, share["x"], color=style.MEASURED, linewidth=0)
    axes.plot(curve["x"], curve["y"], color=style.SIDES["source"])
    axes.set(xscale="log", yscale="log", title="token frequencies, source, training split")
    axes.set(xlabel="rank (1 = most frequent)", ylabel="occurrences")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,g}")
    # Not "measured": a study may leave the table of mutual information out.
    text = f"the {share['x']:,.0f} most frequent tokens,\n{share['y']:.0%} of the occurrences"
    axes.annotate(text, (0.07, 0.06), xycoords="axes fraction")


def _of(shown: pd.DataFrame, kind: str) -> pd.DataFrame:
    return shown[shown["series"].str.startswith(f"{kind}, ")]


def _origins(shown: pd.DataFrame) -> list[str]:
    return [series.split(", ")[1].replace("_", " ") for series in shown["series"].unique()]


def _stack(
    bar: Callable,
    places: Sequence[int] | np.ndarray,
    shown: pd.DataFrame,
    color: str,
    thickness: float = 0.8,
    start: np.ndarray | int = 0,
) -> np.ndarray | int:
    """Stack the series as bars at the same places; returns where the last of them end."""
    for (_, rows), hatch in zip(shown.groupby("series", sort=False), cycle(HATCHES), strict=False):
        look = {"facecolor": color, "hatch": hatch, "edgecolor": "white", "linewidth": 0}
        bar(places, rows["y"], thickness, start, **look)
        start = start + rows["y"].to_numpy()
    return start


def _key_of_sides(axes: Axes, sides: Iterable[str]) -> None:
    axes.grid(visible=False, axis="x")
    _key_above(axes, [Patch(color=style.SIDES[side], label=side) for side in sides])


def _key_above(axes: Axes, handles: list[Patch]) -> None:
    """A legend between the axes and their title."""
    place: dict[str, Any] = {"bbox_to_anchor": (0, 1), "borderaxespad": 0, "borderpad": 0.2}
    axes.legend(handles=handles, ncols=2, loc="lower left", **place).set_in_layout(False)
    axes.set_title(axes.get_title("left"), pad=6 + 12 * math.ceil(len(handles) / 2))


def _thousands(axis: Axis, label: str) -> None:
    axis.set_label_text(f"{label}, thousands")
    axis.set_major_formatter(lambda count, _: f"{count / 1000:g}")


PANELS = {
    "cleaning": _draw_cleaning,
    "words": _draw_words,
    "lengths": _draw_lengths,
    "frequencies": _draw_frequencies,
}
