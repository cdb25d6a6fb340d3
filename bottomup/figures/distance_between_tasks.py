"""PWCCA distance by layer between runs of different objectives, and between two runs of one
objective: with two seeds, or on the two halves of the training text.

Source: evolution, figure on the distance between tasks.
"""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import pairs, style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, join, points, table
from bottomup.measures.jackknife import UNIT, WITHOUT

PUBLISHED = "change_between_tasks"
NEEDED = [*pairs.RUNS, "layer", "variant", "weights", "distance", "ci_low", "ci_high", WITHOUT]
APART = "definition, other initial weights"
TITLES = style.VARIANTS | {APART: "as defined, no initial weights shared"}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `pwcca_between_runs` and, if given, `change_between_tasks`.

    Different objectives are compared within a seed, and so are the two halves of the text; two runs
    of one objective are compared across seeds. If the runs allow it, a further panel compares
    objectives across seeds, so that neither kind of pair shares its initial weights.
    """
    measured = _comparable(table(tables, "pwcca_between_runs", NEEDED))
    ours = points(over_runs(measured, ["panel", "series", "x"], UNIT))
    drawn = join([ours, *_published(tables, ours)]).assign(quantity="PWCCA distance")
    return _figure(drawn), drawn


def _comparable(measured: pd.DataFrame) -> pd.DataFrame:
    rows = pairs.named(measured[measured["weights"] == "x"]).rename(columns={"distance": "value"})
    kept = pairs.comparable(rows, "pwcca_between_runs")
    kept = kept.assign(panel=kept["variant"])
    apart = rows[(rows["seed_a"] != rows["seed_b"]) & (rows["variant"] == "definition")]
    if (apart["objective_a"] != apart["objective_b"]).any():
        kept = pd.concat([kept, apart.assign(panel=APART)])
    return kept.sort_values(["panel", "x"])


def _published(tables: Tables, ours: pd.DataFrame) -> list[pd.DataFrame]:
    if PUBLISHED not in tables:
        return []
    names = tables[PUBLISHED]["series"].str.lower().str.replace(" vs ", "-")
    names = names.str.replace(r"(\w+) init\.", r"\1-\1", regex=True)
    curves = tables[PUBLISHED].assign(series=names)
    curves = curves[names.isin(ours["series"])]
    panels = [panel for panel in ours["panel"].unique() if panel != APART]
    return [points(curves.assign(panel=panel), "published") for panel in panels]


def _figure(drawn: pd.DataFrame) -> Figure:
    panels = list(drawn["panel"].unique())
    figure = Figure(figsize=(3.6 * len(panels) + 0.4, 3.8), layout="constrained")
    for axes, panel in zip(
        figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels, strict=True
    ):
        style.curves(axes, drawn[drawn["panel"] == panel], pairs.look)
        axes.set_title(TITLES[panel])
        style.layer_axis(axes)
    figure.axes[0].set_ylabel(style.DISTANCE)
    style.legend(figure, style.key(drawn, pairs.looks(drawn["series"])), columns=4)
    return figure
