"""Whether a linear map of each layer holds the syntax tree: its edges, and its root.

Not in the papers; the probe is that of Hewitt and Manning (2019).
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bottomup.figures import style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, by_layer, points, select
from bottomup.measures.jackknife import UNIT, WITHOUT

NEEDED = [
    *("objective", "seed", "layer", "metric", "value", "ci_low", "ci_high", WITHOUT),
    *("chain", "permuted", "n"),
]
METRICS = {"uuas": "edges found (UUAS), share", "root_accuracy": "roots found, share"}
CONTROLS = {"chain": "chain", "permuted": "other tree"}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `structural_probe`.

    Lines across a panel are what a chain of words reaches, and the tree of another sentence.
    """
    rows = select(tables, "structural_probe", NEEDED, metric=[*METRICS])
    shown = by_layer(rows, metric="panel")
    curves = over_runs(shown, ["panel", "series", "x"], UNIT)
    drawn = points(curves).assign(quantity=lambda rows: rows["panel"].map(METRICS))
    figure = Figure(figsize=(7.6, 3.3), layout="constrained")
    for axes, metric in zip(figure.subplots(1, len(METRICS)), METRICS, strict=True):
        style.curves(axes, drawn[drawn["panel"] == metric], style.objective)
        _levels(axes, shown[shown["panel"] == metric])
        style.layer_axis(axes)
        axes.set_ylabel(METRICS[metric])
        axes.set_title(f"{style.count(shown['n'], 'sentence')}")
    style.legend(figure, style.key(drawn))
    return figure, drawn


def _levels(axes: Axes, part: pd.DataFrame) -> None:
    """What is reached without a model, if any sentence tells it."""
    for name, label in CONTROLS.items():
        if part[name].notna().any():
            style.level(axes, part[name].mean(), label)
