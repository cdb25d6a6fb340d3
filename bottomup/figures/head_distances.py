"""How far apart heads are by what they attend to, by layer: of one model, and of two.

Each point is the mean over the heads of a layer and over runs. Upper row of panels: one model, with
the divergence of Clark et al. (2019). Lower row: two seeds, or two objectives, by the head of the
second that is nearest to each of the first.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import pairs, style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, join, points, table
from bottomup.measures import jackknife
from bottomup.measures.jackknife import WITHOUT, Range
from bottomup.measures.over_runs import without_blocks

NEEDED = [*pairs.RUNS, "layer", "head", "among", "quantity", "value", WITHOUT, "n"]
ONE, TWO = "one", "two"
SAME, OTHERS = "layer", "other_layers"  # among which heads
WITHIN = Range(0, float(np.log(2)))
NATS = "divergence, nats\n(0 = alike, 0.69 = disjoint)"
# By panel, in the order of the figure: its title, unit, and where its values can be.
PANELS: dict[str, tuple[str, str, Range]] = {
    "one mean": ("one model: heads of a layer", NATS, WITHIN),
    "one mean_others": ("one model: heads of other layers", NATS, WITHIN),
    "one nearest": ("one model: nearest of the layer", NATS, WITHIN),
    "two mean": ("two models: heads of a layer", NATS, WITHIN),
    "two nearest": ("two models: nearest of the layer", NATS, WITHIN),
    "two beyond_place": (
        "two models: nearer than by place",
        "share of the way\n(0 = as by place, 1 = the same)",
        Range(high=1),
    ),
}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `head_distances`. A row of panels for one model, whose series
    are objectives, and one for two, whose series are pairs; without pairs the first alone."""
    measured = pd.DataFrame(of_layers(table(tables, "head_distances", NEEDED)))
    rows = [
        [name for name in PANELS if name.startswith(kind)]
        for kind in (ONE, TWO)
        if measured["panel"].str.startswith(kind).any()
    ]
    figure = Figure(figsize=(9.6, 2.9 * len(rows) + 0.6), layout="constrained")
    grid = figure.subplots(len(rows), 3, squeeze=False, sharex=True)
    parts = []
    for line, names in zip(grid, rows, strict=True):
        for axes, name in zip(line, names, strict=True):
            title, unit, within = PANELS[name]
            of = measured[measured["panel"] == name].sort_values("x")
            curves = over_runs(of, ["series", "x"], within)
            parts.append(points(curves, panel=name, quantity=unit.partition("\n")[0]))
            style.curves(axes, parts[-1], _look)
            axes.set_title(title)
            axes.set_ylabel(unit)
            style.layer_axis(axes, "layer")
    in_nats = grid.ravel()[:5]
    top = max(axes.get_ylim()[1] for axes in in_nats)
    for axes in in_nats:
        axes.set_ylim(0, top)
    drawn = join(parts)
    series = drawn["series"].drop_duplicates()
    alone = series[~series.str.contains("-")]
    looks = {name: _look(name) for name in style.ordered(alone)}
    looks |= pairs.looks(series[series.str.contains("-")])
    style.legend(figure, style.key(drawn, looks), columns=4)
    return figure, drawn


def _look(series: str) -> style.Look:
    return pairs.look(series) if "-" in series else style.objective(series)


def of_layers(rows: pd.DataFrame) -> Iterator[dict]:
    """What the panels show of each layer of each pair, as in `means.over_runs`."""
    by = [*pairs.RUNS, "x", "series"]
    rows = rows[rows["among"].isin([SAME, OTHERS])]
    for key, of in pairs.named(rows).groupby(by, sort=False):
        named = dict(zip(by, key, strict=True)) | {"n": of["n"].min()}
        alone = key[:2] == key[2:4]
        if alone:
            named["series"] = named["objective_a"]
        # Of each head with all blocks and without each.
        values = {
            name: np.column_stack(
                [some["value"], without_blocks(some["value"], some[WITHOUT])]
            ).mean(axis=0)
            for name, some in of.groupby(["among", "quantity"])
        }
        quantities = {}
        if (OTHERS, "mean") in values:
            quantities["mean_others"] = values[OTHERS, "mean"]
        if (SAME, "mean") in values:  # not of one model with one head
            quantities["mean"], quantities["nearest"] = (
                values[SAME, "mean"],
                values[SAME, "nearest"],
            )
            by_place = values[SAME, "nearest_by_place"]
            quantities["beyond_place"] = 1 - jackknife.ratio(quantities["nearest"], by_place)
        for name, of_panel in quantities.items():
            panel = f"{ONE if alone else TWO} {name}"
            if panel in PANELS:
                estimate = jackknife.estimate("value", of_panel[0], of_panel[1:], PANELS[panel][2])
                yield named | {"panel": panel} | estimate
