"""What it costs a model to go on from another one's states, by layer and, below, linear CKA of the
same two models, where it was measured.

Not in the papers; stitching is that of Bansal et al. (2021) and Csiszárik et al. (2021).
"""

from dataclasses import replace

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bottomup.figures import pairs, style
from bottomup.figures.points import Tables, join, of_one_run, points, table
from bottomup.figures.similarity_between_runs import NEEDED as SIMILAR

NEEDED = [
    *("objective", "seed", "from_objective", "from_seed", "layer", "fit"),
    *("value", "ci_low", "ci_high", "own_nats", "n"),
]
OTHER_SEED = "other_seed"
COST, CKA = "cost", "cka_debiased"
LABELS = {COST: "cost, nats a prediction\n(0 = as its own)", CKA: "linear CKA\n(1 = same)"}
SAME = {COST: 0, CKA: 1}
BESIDE = 3  # typographic points between two of five curves


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `stitching` by the loss's fit and, if it is there,
    `similarity_between_runs`. A column for each frozen model; series are the others, panels
    `cost mlm`, `cka_debiased mlm`."""
    every = table(tables, "stitching", NEEDED)
    cost = every[every["fit"] == "loss"].sort_values("layer")
    into = style.ordered(cost["objective"])
    rows = {COST: _points(cost, COST)}
    if len(tables.get("similarity_between_runs", ())):
        rows[CKA] = _points(_similar(tables, cost), CKA)
    figure = Figure(
        figsize=(max(3.1 * len(into), 4.2), 2.6 * len(rows) + 0.6), layout="constrained"
    )
    grid = figure.subplots(len(rows), len(into), squeeze=False, sharey="row", sharex=True)
    for row, (name, drawn) in zip(grid, rows.items(), strict=True):
        for axes, objective in zip(row, into, strict=True):
            _panel(axes, drawn[drawn["panel"] == f"{name} {objective}"], name)
        row[0].set_ylabel(LABELS[name])
    for axes, objective in zip(grid[0], into, strict=True):
        own = cost[cost["objective"] == objective]
        look = style.objective(objective)
        axes.set_title(
            f"into {look.label}\nown loss {own['own_nats'].iloc[0]:.2f}, "
            f"{style.count(own['n'], 'prediction')}"
        )
    drawn = join([*rows.values()])
    others = style.ordered(set(drawn["series"]) - {OTHER_SEED})
    seeds = [OTHER_SEED] * (OTHER_SEED in set(drawn["series"]))
    looks = {name: _look(name) for name in [*others, *seeds]}
    style.legend(figure, style.key(drawn, looks), columns=4)
    return figure, drawn


def _similar(tables: Tables, cost: pd.DataFrame) -> pd.DataFrame:
    """The similarity of the same pairs of runs, with the columns of `cost` that name them.

    Layers are those of the first run of a pair. Turned round, it is left out if the other run has
    another number of them.
    """
    measured = table(tables, "similarity_between_runs", SIMILAR)
    cka = measured[measured["measure"] == CKA]
    sides = ["objective", "seed"], ["from_objective", "from_seed"]
    both = [
        cka.rename(columns=dict(zip(pairs.RUNS, [*first, *second], strict=True)))
        for first, second in (sides, sides[::-1])
    ]
    runs = [*sides[0], *sides[1]]
    tops = cost.groupby(runs, as_index=False)["layer"].max()  # of the frozen model
    named = pd.concat(both).merge(tops, on=runs, suffixes=("", "_top"))
    of_frozen = named.groupby(runs)["layer"].transform("max") == named["layer_top"]
    return named[of_frozen].sort_values("layer")


def _points(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """The points of one row of panels."""
    other = rows["from_objective"].where(rows["from_objective"] != rows["objective"], OTHER_SEED)
    named = rows.rename(columns={"layer": "x"}).assign(
        series=other, panel=f"{name} " + rows["objective"]
    )
    return points(of_one_run(named), quantity="nats" if name == COST else name)


def _panel(axes: Axes, drawn: pd.DataFrame, name: str) -> None:
    # Layers that are measured are some of all: they are joined.
    style.curves(axes, drawn, _look, reach=float("inf"), beside=BESIDE)
    style.across(axes, SAME[name])
    style.layer_axis(axes)


def _look(series: str) -> style.Look:
    """That of the objective that the states come from; of another seed black."""
    if series == OTHER_SEED:
        return replace(style.KINDS["encoder"], label="its own, another seed", color="black")
    return style.objective(series)
