"""How well BERTScore by each layer tells how alike two sentences are: a panel for each proxy of
what people would say.

Not in the papers; the question is that of Zhang et al. (2020).
"""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, by_layer, points, table
from bottomup.measures.jackknife import COSINE, WITHOUT

NEEDED = [
    *("objective", "seed", "layer", "pairs", "centered"),
    *("value", "ci_low", "ci_high", WITHOUT, "by_tokens", "n"),
]
# By kind of pairs, what the second sentence is; in a panel each, where a study has such pairs.
PAIRS = {
    "rated": "two sentences, as rated",
    "translation": "another sentence, by translations",
    "replaced": "the same, words replaced",
    "dropped": "the same, words dropped",
    "reordered": "the same, words reordered",
}
QUANTITY = "rank correlation with BERTScore"


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `bertscore`, by cosines that are not centered, as published.

    A line across a panel is what the tokens that two sentences share tell, the mean over models.
    """
    measured = by_layer(table(tables, "bertscore", NEEDED), pairs="panel")
    shown = measured[~measured["centered"].astype(bool)]
    drawn = points(over_runs(shown, ["panel", "series", "x"], COSINE), quantity=QUANTITY)
    present = {*shown["panel"]}
    panels = {name: label for name, label in PAIRS.items() if name in present}
    columns = (len(panels) + 1) // 2
    figure = Figure(figsize=(4.2 * columns, 5.6), layout="constrained")
    grid = figure.subplots(2, columns, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    for axes, (name, label) in zip(grid.flat, panels.items(), strict=False):
        of_panel, part = drawn[drawn["panel"] == name], shown[shown["panel"] == name]
        style.curves(axes, of_panel, style.objective)
        # Checkpoints have tokens of their own; a deep one counts no more than others.
        by_tokens = part.groupby("series")["by_tokens"].mean()
        if by_tokens.notna().any():
            style.level(axes, by_tokens.mean(), "tokens")
        style.layer_axis(axes)
        axes.set_title(f"{label}\n{style.count(part['n'], 'pair')}")
    for axes in grid[:, 0]:
        axes.set_ylabel(QUANTITY)
    style.legend(figure, style.key(drawn))
    return figure, drawn
