"""How evenly representations are spread over directions, and how much they depend on context, by
layer: a row of panels for each measure, a column for each version of the representations.

Not in the papers; the measures are those of Ethayarajh (2019).
"""

from itertools import product

import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, by_layer, having, join, points, table
from bottomup.measures.jackknife import COSINE, WITHOUT

NEEDED = [
    *("objective", "seed", "layer", "version", "measure", "adjusted"),
    *("value", "ci_low", "ci_high", WITHOUT),
]
# By measure: whether it is adjusted, less what any words share, and the label of the axis.
MEASURES = {
    "anisotropy": (False, "anisotropy:\ncosine, different tokens"),
    "self_similarity": (True, "self-similarity, adjusted:\ncosine, one token"),
    "intra_sentence_similarity": (True, "intra-sentence similarity,\nadjusted: cosine with mean"),
    "maximum_explainable_variance": (True, "maximum explainable variance,\nadjusted: share"),
}
VERSIONS = {
    "raw": "raw",
    "centered": "centered (mean 0)",
    "standardized": "standardized (mean 0, variance 1)",
}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `isotropy`."""
    measured = table(tables, "isotropy", NEEDED)
    cells = list(product(MEASURES, VERSIONS))
    drawn = join([points(_select(measured, *cell), quantity=cell[0]) for cell in cells])
    figure = Figure(figsize=(9.6, 8.8), layout="constrained")
    grid = figure.subplots(len(MEASURES), len(VERSIONS), sharex=True, sharey="row")
    for axes, cell in zip(grid.flat, cells, strict=True):
        style.curves(axes, drawn[drawn["panel"] == _panel(*cell)], style.objective)
        style.across(axes)
        style.layer_axis(axes)
        axes.label_outer()
    for axes, title in zip(grid[0], VERSIONS.values(), strict=True):
        axes.set_title(title)
    for axes, (_, label) in zip(grid[:, 0], MEASURES.values(), strict=True):
        axes.set_ylabel(label)
    style.legend(figure, style.key(drawn))
    return figure, drawn


def _panel(measure: str, version: str) -> str:
    return f"{measure}, {version}"


def _select(measured: pd.DataFrame, measure: str, version: str) -> pd.DataFrame:
    """The curves of one panel."""
    wanted = {"measure": measure, "version": version, "adjusted": MEASURES[measure][0]}
    part = by_layer(having(measured, "isotropy", **wanted))
    curves = over_runs(part, ["series", "x"], COSINE)
    return curves.assign(panel=_panel(measure, version))
