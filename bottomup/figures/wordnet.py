"""Whether layers tell the senses of WordNet's examples apart, by layer.

Not in the papers; the question is that of Wiedemann et al. (2019). A panel for the nearest example
of a word, and one for pairs of its examples.
"""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, by_layer, join, points, table
from bottomup.measures.jackknife import COSINE, UNIT, WITHOUT, Range

NEEDED = [
    *("objective", "seed", "layer", "property", "value", "ci_low", "ci_high", WITHOUT, "n"),
]
# By property its title, unit, where its values can be, and what they are at random.
PANELS: dict[str, tuple[str, str, Range, float]] = {
    "nearest": (
        "the nearest example has the same sense",
        "share above chance\n(0 = as at random, 1 = all)",
        COSINE,
        0,
    ),
    "pairs": (
        "a pair of one sense is more alike",
        "share of comparisons\n(0.5 = as at random)",
        UNIT,
        0.5,
    ),
}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `wordnet`."""
    measured = by_layer(table(tables, "wordnet", NEEDED), property="panel")
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    parts = []
    for axes, (name, (title, unit, within, chance)) in zip(
        figure.subplots(1, len(PANELS)), PANELS.items(), strict=True
    ):
        of = over_runs(measured[measured["panel"] == name], ["panel", "series", "x"], within)
        parts.append(points(of, quantity=unit.partition("\n")[0]))
        style.across(axes, chance)
        style.curves(axes, parts[-1], style.objective)
        style.layer_axis(axes)
        axes.set_title(f"{title}\n{style.count(parts[-1]['n'], 'word')}")
        axes.set_ylabel(unit)
    drawn = join(parts)
    barred = drawn["low"].notna().any()
    bars = style.intervals(drawn).replace("documents", "words") if barred else None
    style.legend(figure, style.key(drawn, bars=bars))
    return figure, drawn
