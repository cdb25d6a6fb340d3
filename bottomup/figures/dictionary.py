"""Which share of what two runs represent only one of them has, by layer, by a sparse dictionary.

Not in the papers; crosscoders are those of Lindsey et al. (2024).
"""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import pairs, style
from bottomup.figures.points import Tables, over_seeds, points, table

NEEDED = [*pairs.RUNS, "layer", "measure", "of", "value", "ci_low", "ci_high", "n"]
# By panel: its title, and the rows that are added up or averaged.
PANELS = {
    "imbalance": ("how unequal features are", "0 = alike in both, 1 = in one alone"),
    "exclusive": ("features that one alone has", "share of what is active"),
    "explained": ("variance explained", "share, mean of both"),
}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `dictionary`; series are pairs of runs."""
    measured = pairs.named(table(tables, "dictionary", NEEDED))
    only = measured[(measured["measure"] == "share") & (measured["of"] != "both")]
    by = ["series", *pairs.RUNS, "x"]
    parts = {
        "exclusive": only.groupby(by, as_index=False)["value"].sum(min_count=1),
        **{
            name: rows.groupby(by, as_index=False)["value"].mean()
            for name, rows in measured.groupby("measure")
            if name in PANELS
        },
    }
    every = pd.concat([part.assign(panel=name) for name, part in parts.items()])
    drawn = points(over_seeds(every, "value", ["panel", "series", "x"]), quantity="share")
    figure = Figure(figsize=(9.2, 3.4), layout="constrained")
    for axes, (name, (title, label)) in zip(
        figure.subplots(1, len(PANELS)), PANELS.items(), strict=True
    ):
        # Layers that are measured are some of all: they are joined.
        style.curves(axes, drawn[drawn["panel"] == name], pairs.look, reach=float("inf"))
        style.layer_axis(axes)
        axes.set_xticks(sorted(drawn["x"].unique()))
        axes.margins(y=0.15)  # no marker at the top is cut
        axes.set_ylim(bottom=-0.01)
        axes.set_title(title)
        axes.set_ylabel(label)
    style.legend(figure, style.key(drawn, pairs.looks(drawn["series"]), style.SEEDS), columns=4)
    return figure, drawn
