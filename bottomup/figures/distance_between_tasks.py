"""PWCCA distance by layer between runs of different objectives, and between two runs of one: of two
seeds, or of the two halves of the training text.

Source: evolution, figure on the distance between tasks.
"""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.errors import UserError
from bottomup.figures import style
from bottomup.figures.points import Tables, join, over_intervals, points, table

PUBLISHED = "change_between_tasks"
NEEDED = [
    *("objective_a", "seed_a", "objective_b", "seed_b", "layer", "variant", "weights"),
    *("distance", "ci_low", "ci_high"),
]
APART = "definition, other initial weights"
PAPER_PAIRS = ["mt-mlm", "lm-mt", "lm-mlm"]
TITLES = style.VARIANTS | {APART: "as defined, no initial weights shared"}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """From `pwcca_between_runs`, and `change_between_tasks` where given: the figure, its points.

    Different objectives are compared within a seed, and so are the two halves of the text; two runs
    of one objective across seeds. Where there are runs for it, a further panel compares objectives
    across seeds, too: only there does neither kind of pair share its initial weights.
    """
    measured = _comparable(table(tables, "pwcca_between_runs", NEEDED))
    ours = points(over_intervals(measured, "distance", ["panel", "series", "x"]))
    drawn = join([ours, *_published(tables, ours)]).assign(quantity="PWCCA distance")
    return _figure(drawn), drawn


def _comparable(measured: pd.DataFrame) -> pd.DataFrame:
    measured = measured[measured["weights"] == "x"]
    a, b = measured["objective_a"], measured["objective_b"]
    same_objective, same_seed = a == b, measured["seed_a"] == measured["seed_b"]
    wanted = same_objective | ~(a.isin(style.UNTRAINED) | b.isin(style.UNTRAINED))
    kept = measured[wanted & (same_objective != same_seed)]
    kept = kept.assign(panel=kept["variant"])
    apart = wanted & ~same_seed & (measured["variant"] == "definition")
    if (apart & ~same_objective).any():
        kept = pd.concat([kept, measured[apart].assign(panel=APART)])
    if kept.empty:
        raise UserError(
            "no two runs to compare; this figure needs two objectives or two seeds, in the table "
            "pwcca_between_runs; add one to the study or leave the figure out"
        )
    series = [_series(a, b) for a, b in zip(kept["objective_a"], kept["objective_b"], strict=True)]
    kept = kept.assign(series=series).rename(columns={"layer": "x"})
    return kept.sort_values(["panel", "x"])


def _series(a: str, b: str) -> str:
    return f"{b}-{a}" if f"{b}-{a}" in PAPER_PAIRS else f"{a}-{b}"


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
        style.curves(axes, drawn[drawn["panel"] == panel], _look)
        axes.set_title(TITLES[panel])
        style.layer_axis(axes)
    figure.axes[0].set_ylabel(style.DISTANCE)
    looks = [_look(series) for series in _ordered(set(drawn["series"]))]
    style.legend(figure, style.key(drawn, looks), columns=4)
    return figure


def _look(series: str) -> style.Look:
    return style.pair(*series.split("-"))


def _ordered(series: set[str]) -> list[str]:
    names = {name for pair in series for name in pair.split("-")}
    objectives = style.ordered(style.HALF.sub("", name) for name in names)
    seeds = [f"{name}-{name}" for name in objectives]
    halves = [f"{name}_half1-{name}_half2" for name in objectives]
    others = sorted(series - {*PAPER_PAIRS, *seeds, *halves})
    return [pair for pair in [*PAPER_PAIRS, *others, *seeds, *halves] if pair in series]
