"""PWCCA distance by layer between runs of different objectives, and between two runs of one
objective: with two seeds, or on the two halves of the training text; and below how much further
others are apart than MT and MLM.

Source: evolution, figure on the distance between tasks.
"""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import layout, pairs, style
from bottomup.figures.means import less, over_runs
from bottomup.figures.points import NoRowsError, Tables, join, points, published_in, table
from bottomup.measures.jackknife import UNIT, WITHOUT

PUBLISHED = "change_between_tasks"
NEEDED = [*pairs.RUNS, "layer", "variant", "weights", "distance", "ci_low", "ci_high", WITHOUT]
APART = "definition, other initial weights"
QUANTITY, FURTHER = "PWCCA distance", "further apart than MT and MLM"
NEAREST, *OTHERS = pairs.PAPER_PAIRS
BY = ["panel", "series", "x"]
TITLES = style.VARIANTS | {APART: "as defined, no initial weights shared"}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `pwcca_between_runs` and, if given, `change_between_tasks`.

    Different objectives are compared within a seed, and so are the two halves of the text; two runs
    of one objective are compared across seeds. If the runs allow it, a further panel compares
    objectives across seeds, so that neither kind of pair shares its initial weights.
    """
    measured = _of_panels(table(tables, "pwcca_between_runs", NEEDED))
    theirs = _published(tables, measured)
    drawn = join(
        [
            points(over_runs(measured, BY, UNIT), quantity=QUANTITY),
            points(theirs, "published", quantity=QUANTITY),
            points(over_runs(_further(measured), BY, UNIT.of_differences), quantity=FURTHER),
            points(_published_further(theirs), "published", quantity=FURTHER),
        ]
    )
    return _figure(drawn), drawn


def _of_panels(measured: pd.DataFrame) -> pd.DataFrame:
    rows = pairs.named(measured[measured["weights"] == "x"]).rename(columns={"distance": "value"})
    kept = comparable(rows)
    kept = kept.assign(panel=kept["variant"])
    apart = rows[of_other_seeds(rows) & (rows["variant"] == "definition")]
    if (apart["objective_a"] != apart["objective_b"]).any():
        kept = pd.concat([kept, apart.assign(panel=APART)])
    return kept.sort_values(["panel", "x"])


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """Those of `rows` whose two runs differ only in the objective, or only in the seed; a
    checkpoint, of seed 0, has no other."""
    same_objective = rows["objective_a"] == rows["objective_b"]
    kept = rows[same_objective == of_other_seeds(rows)]
    if kept.empty:
        raise NoRowsError(
            "the table pwcca_between_runs has no two runs to compare; this figure needs two "
            "objectives or two seeds; add one to the study"
        )
    return kept


def of_other_seeds(rows: pd.DataFrame) -> pd.Series:
    """Which pairs are of two runs with other initial weights."""
    a, b = rows["seed_a"], rows["seed_b"]
    return (a != b) & (a > 0) & (b > 0)


def _further(measured: pd.DataFrame) -> pd.DataFrame:
    """The distance of LM from MT and from MLM, less that of MT and MLM with the same seeds."""
    nearest = measured[measured["series"] == NEAREST]
    others = measured[measured["series"].isin(OTHERS)]
    return less(others, nearest, ["panel", "x", "seed_a", "seed_b"], UNIT)


def _published(tables: Tables, measured: pd.DataFrame) -> pd.DataFrame:
    """The published curves of our pairs, in every panel of objectives within a seed."""
    curves = published_in(tables, PUBLISHED)
    names = curves["series"].str.lower().str.replace(" vs ", "-")
    names = names.str.replace(r"(\w+) init\.", r"\1-\1", regex=True)
    curves = curves.assign(series=names)[names.isin(measured["series"])]
    panels = [panel for panel in measured["panel"].unique() if panel != APART]
    return pd.concat([curves.assign(panel=panel) for panel in panels])


def _published_further(curves: pd.DataFrame) -> pd.DataFrame:
    others = curves[curves["series"].isin(OTHERS)]
    return pairs.published_less(others, curves[curves["series"] == NEAREST])


def _figure(drawn: pd.DataFrame) -> Figure:
    panels = list(drawn["panel"].unique())
    by = dict(list(drawn.groupby("quantity", sort=False)))
    looks = pairs.looks(by[QUANTITY]["series"])
    rows = [
        (quantity, some)
        for quantity, shown in by.items()
        for some in pairs.in_panels(name for name in looks if name in set(shown["series"]))
    ]
    figure = Figure(figsize=(3.6 * len(panels) + 0.4, 1.2 + 2.6 * len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), len(panels), squeeze=False)
    layout.share_y(grid, [quantity for quantity, _ in rows])
    for axes_of_row, (quantity, some) in zip(grid, rows, strict=True):
        shown = by[quantity][by[quantity]["series"].isin(some)]
        for axes, panel in zip(axes_of_row, panels, strict=True):
            style.curves(axes, shown[shown["panel"] == panel], pairs.look)
            style.layer_axis(axes)
            if quantity == FURTHER:
                style.across(axes)
        axes_of_row[0].set_ylabel(style.DISTANCE if quantity == QUANTITY else FURTHER)
    for axes, panel in zip(grid[0], panels, strict=True):
        axes.set_title(TITLES[panel])
    style.legend(figure, style.key(by[QUANTITY], looks), columns=4)
    return figure
