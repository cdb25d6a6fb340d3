"""Whether attention joins the words that syntax trees join: by the best head of each layer, by the
mean of its heads, and how much of it by place alone.

Not in the papers; trees from attention are those of Raganato and Tiedemann (2018) and Htut et al.
(2019).
"""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, by_layer, join, points, table
from bottomup.figures.structural_probe import CONTROLS
from bottomup.measures.jackknife import UNIT, WITHOUT

NEEDED = [
    *("objective", "seed", "layer", "of", "value", "ci_low", "ci_high", WITHOUT),
    *("by_place", "chain", "permuted", "n"),
]
BY_PLACE = "by_place"
# By panel: its title, and of what it is.
PANELS = {
    "head": ("best head, chosen in other documents", "head"),
    BY_PLACE: ("this head in another sentence", "head"),
    "mean": ("mean of all heads", "mean"),
}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `attention_trees`.

    Lines across a panel are what a chain of words reaches, and the tree of another sentence.
    """
    measured = by_layer(table(tables, "attention_trees", NEEDED))
    figure = Figure(figsize=(9.6, 3.4), layout="constrained")
    grid, parts = figure.subplots(1, len(PANELS), sharey=True), []
    for axes, (name, (title, of)) in zip(grid, PANELS.items(), strict=True):
        shown = measured[measured["of"] == of]
        if name == BY_PLACE:
            nothing = {"ci_low": None, "ci_high": None, WITHOUT: None}
            shown = shown.assign(value=shown[BY_PLACE], **nothing)
        parts.append(points(over_runs(shown, ["series", "x"], UNIT), panel=name, quantity="share"))
        style.curves(axes, parts[-1], style.objective)
        axes.set_title(f"{title}\n{style.count(shown['n'], 'sentence')}")
        style.layer_axis(axes, "layer")
    grid[0].set_ylabel("edges found (UUAS), share")
    grid[0].set_ylim(bottom=0)
    for control, label in CONTROLS.items():
        if measured[control].notna().any():
            style.level(grid[-1], measured[control].mean(), label)
            for axes in grid[:-1]:
                style.across(axes, measured[control].mean())
    drawn = join(parts)
    style.legend(figure, style.key(drawn))
    return figure, drawn
