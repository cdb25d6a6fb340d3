"""The corpus: what cleaning dropped, the splits, sentence lengths, token frequencies."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from bottomup.figures import style
from bottomup.figures.points import Tables, join, points, table

SIDES = ["source", "target"]
CURVE_POINTS = 300


@style.paper()
def draw(tables: Tables, n_tokens: int) -> tuple[Figure, pd.DataFrame]:
    """From `cleaning`, `splits` and `frequencies`: the figure and its points.

    `n_tokens` is the number of most frequent tokens that mutual information is measured on.
    """
    cleaning = table(tables, "cleaning", ["step", "dropped", "remaining"])
    words = [f"{side}_words" for side in SIDES]
    splits = table(tables, "splits", ["split", "pairs", *words])
    frequencies = table(tables, "frequencies", ["rank", "count"])
    drawn = join([_cleaning(cleaning), *_splits(splits), *_frequencies(frequencies, n_tokens)])
    figure = Figure(figsize=(7.6, 5.2), layout="constrained")
    axes = figure.subplot_mosaic([["cleaning", "words"], ["lengths", "frequencies"]])
    for panel, draw_panel in PANELS.items():
        draw_panel(axes[panel], drawn[drawn["panel"] == panel])
    return figure, drawn


def _cleaning(cleaning: pd.DataFrame) -> pd.DataFrame:
    rows = cleaning.melt("step", ["remaining", "dropped"], "series", "y")
    return points(rows.rename(columns={"step": "x"}), panel="cleaning", quantity="pairs")


def _splits(splits: pd.DataFrame) -> list[pd.DataFrame]:
    parts = [points(splits.rename(columns={"split": "x", "pairs": "y"}), quantity="pairs")]
    parts[0]["panel"] = "words"
    for side in SIDES:
        words = splits[f"{side}_words"]
        rows = splits.assign(x=splits["split"], series=side)
        parts += [
            points(rows.assign(y=words), panel="words", quantity="words"),
            points(
                rows.assign(y=words / splits["pairs"]),
                panel="lengths",
                quantity="words per sentence",
            ),
        ]
    return parts


def _frequencies(frequencies: pd.DataFrame, n_tokens: int) -> list[pd.DataFrame]:
    ordered = frequencies.sort_values("rank")
    # On a log axis neighbors in the tail fall on one another, so evenly spaced ranks are enough.
    places = np.geomspace(1, len(ordered), CURVE_POINTS).round().astype(int) - 1
    curve = ordered.iloc[np.unique(places)].rename(columns={"rank": "x", "count": "y"})
    counts = ordered["count"]
    share = pd.DataFrame({"x": [n_tokens], "y": [counts.head(n_tokens).sum() / counts.sum()]})
    return [
        points(curve, panel="frequencies", quantity="occurrences"),
        points(share, panel="frequencies", quantity="share of occurrences"),
    ]


def _draw_cleaning(axes: Axes, shown: pd.DataFrame) -> None:
    remaining, dropped = (shown[shown["series"] == name] for name in ("remaining", "dropped"))
    places = range(len(remaining))
    axes.barh(places, remaining["y"], color=style.SIDES["source"], label="remaining")
    axes.barh(
        places,
        dropped["y"],
        left=remaining["y"],
        color=style.DROPPED,
        label="dropped at this step",
    )
    steps = zip(dropped["x"].str.replace("_", " "), dropped["y"], strict=True)
    axes.set_yticks(places, [f"{step}, −{count:,.0f}" if count else step for step, count in steps])
    axes.invert_yaxis()
    axes.set_title("cleaning", pad=18)
    _thousands(axes.xaxis, "sentence pairs")
    _key_above(axes)


def _draw_words(axes: Axes, shown: pd.DataFrame) -> None:
    _sides(axes, shown[shown["quantity"] == "words"])
    pairs = shown[shown["quantity"] == "pairs"]
    names = zip(pairs["x"], pairs["y"], strict=True)
    axes.set_xticks(range(len(pairs)), [f"{split}\n{count:,.0f} pairs" for split, count in names])
    axes.set_title("words per split", pad=18)
    _thousands(axes.yaxis, "words")


def _draw_lengths(axes: Axes, shown: pd.DataFrame) -> None:
    _sides(axes, shown)
    axes.set_xticks(range(shown["x"].nunique()), shown["x"].unique())
    axes.set_title("sentence length", pad=18)
    axes.set_ylabel("words per sentence, mean")


def _draw_frequencies(axes: Axes, shown: pd.DataFrame) -> None:
    curve = shown[shown["quantity"] == "occurrences"]
    share = shown[shown["quantity"] == "share of occurrences"].iloc[0]
    axes.axvspan(1, share["x"], color=style.MEASURED, linewidth=0)
    axes.plot(curve["x"], curve["y"], color=style.SIDES["source"])
    axes.set(xscale="log", yscale="log", title="token frequencies, source, training split")
    axes.set(xlabel="rank (1 = most frequent)", ylabel="occurrences")
    text = f"measured: {share['x']:,.0f} tokens,\n{share['y']:.0%} of the occurrences"
    axes.annotate(text, (0.07, 0.06), xycoords="axes fraction")


def _sides(axes: Axes, shown: pd.DataFrame) -> None:
    for offset, side in ((-0.2, "source"), (0.2, "target")):
        heights = shown.loc[shown["series"] == side, "y"]
        places = np.arange(len(heights)) + offset
        axes.bar(places, heights, width=0.38, color=style.SIDES[side], label=side)
    axes.grid(visible=False, axis="x")
    _key_above(axes)


def _key_above(axes: Axes) -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0, borderpad=0.2)


def _thousands(axis: Axis, label: str) -> None:
    axis.set_label_text(f"{label}, thousands")
    axis.set_major_formatter(lambda count, _: f"{count / 1000:g}")


PANELS = {
    "cleaning": _draw_cleaning,
    "words": _draw_words,
    "lengths": _draw_lengths,
    "frequencies": _draw_frequencies,
}
