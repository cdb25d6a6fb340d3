"""Whether nearest neighbors among a word's occurrences share its translation, by layer.

Not in the papers. A panel for the translation, one for the next token, and one for the translation
among neighbors with other tokens beside them.
"""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, by_layer, points, table
from bottomup.measures.jackknife import AT_MOST_ONE, WITHOUT

NEEDED = [
    *("objective", "seed", "layer", "property", "k", "value", "ci_low", "ci_high", WITHOUT, "n"),
]
# By property, what neighbors share; in a panel each.
PROPERTIES = {
    "translation": "same translation",
    "right_token": "same next token",
    "translation_apart": "same translation beside other tokens",
}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `senses`; 0 is chance, and 1 all neighbors."""
    measured = by_layer(table(tables, "senses", NEEDED), property="panel")
    quantity = f"share of the {style.count(measured['k'], 'nearest neighbor')}, above chance"
    drawn = points(over_runs(measured, ["panel", "series", "x"], AT_MOST_ONE), quantity=quantity)
    figure = Figure(figsize=(9.2, 3.4), layout="constrained")
    grid = figure.subplots(1, len(PROPERTIES), sharey=True)
    for axes, (name, label) in zip(grid, PROPERTIES.items(), strict=True):
        style.across(axes)
        shown = drawn[drawn["panel"] == name]
        style.curves(axes, shown, style.objective)
        style.layer_axis(axes)
        axes.set_title(f"{label}\n{style.count(shown['n'], 'word')}")
    grid[0].set_ylabel(f"{quantity}\n(0 = as at random, 1 = all)")
    style.legend(figure, style.key(drawn))
    return figure, drawn
