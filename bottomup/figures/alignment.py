"""The words that each subject does not see, by reason, which its views and heads leave out; and
those that it reads as unknown, which these keep."""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import style
from bottomup.figures.points import Tables, points, table

UNKNOWN = "unknown"
NEEDED = ["objective", "text", "unit", "reason", "n", "total"]
REASONS = {
    "vanished": style.Look("nothing is left of them", "#CC79A7"),
    "cut off": style.Look("cut off", "#E69F00"),
    "shared": style.Look("not told from others", "#56B4E9"),
    UNKNOWN: style.Look("read as unknown, and kept", "#999999"),
}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points (shares of the words that are occurrences), from `alignment`."""
    measured = table(tables, "alignment", NEEDED).query("text == 'occurrences'")
    words, cut = (measured[measured["unit"] == unit] for unit in ("word", "sentence"))
    drawn = points(
        words.assign(y=words["n"] / words["total"]),
        panel="occurrences",
        quantity="share of words",
    ).assign(x=words["objective"], series=words["reason"])
    names = style.ordered(words["objective"])
    figure = Figure(figsize=(7.2, 0.36 * len(names) + 1.1), layout="constrained")
    axes = figure.subplots()
    left = pd.Series(0.0, names)
    for reason, look in REASONS.items():
        shares = drawn[drawn["series"] == reason].groupby("x")["y"].mean()[names]
        axes.barh(names, shares, left=left, color=look.color, label=look.label)
        left += shares
    lines = [_line(*(part[part["objective"] == name] for part in (words, cut))) for name in names]
    labels = [
        f"{style.objective(name).label}\n{line}" for name, line in zip(names, lines, strict=True)
    ]
    axes.set_yticks(range(len(names)), labels)
    axes.invert_yaxis()
    axes.set_xlim(0, max(0.01, 1.05 * left.max()))
    axes.set_xlabel("share of the words")
    style.legend(figure, axes.get_legend_handles_labels()[0])
    return figure, drawn


def _line(words: pd.DataFrame, cut: pd.DataFrame) -> str:
    """How much a subject does not see, in words."""
    missed = words[words["reason"] != UNKNOWN]["n"].sum()
    of_words = f"{missed:,} of {words['total'].iloc[0]:,} words"
    return f"{of_words}, {cut['n'].iloc[0]:,} of {cut['total'].iloc[0]:,} sentences cut off"
