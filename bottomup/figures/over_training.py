"""How the layers of a run form during training: a column of panels for each objective, a line for
each layer, by the number of updates.

Not in the papers. Above: mutual information with the input token, less that of layer 0. Below: the
PWCCA distance from a layer to itself at the end of training (Raghu et al. 2017; Saphra and Lopez
2019).
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import layout, steps, style
from bottomup.figures.means import over_runs, since_layer_0
from bottomup.figures.pairs import RUNS
from bottomup.figures.points import NoRowsError, Tables, join, points, select
from bottomup.measures.jackknife import ANY, UNIT, WITHOUT, Range

TO_THE_END = "PWCCA distance to the\nend of training"
BY = ["panel", "series", "x"]


@style.paper()
def draw(tables: Tables, estimate: dict[str, int], variant: str) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `mutual_information` and `pwcca_between_runs` of runs at
    steps and at their end, and a table of metrics for each run, named `objective-seed`.

    `estimate` has the `n_clusters` and the `n_tokens` to show, `variant` is the kind of PWCCA. The
    end is drawn at the step of the lowest dev loss, whose weights a run ends with, mean over seeds.
    """
    information, distances = _information(tables, estimate), _distances(tables, variant)
    objectives = style.ordered(distances["panel"])
    ends = {name: steps.end(tables, name) for name in objectives}
    information = information[information["panel"].isin(objectives)]
    drawn = join(
        [
            points(_over_runs(information, ANY), quantity=style.INFORMATION),
            points(_over_runs(distances, UNIT), quantity=TO_THE_END),
        ]
    )
    drawn = drawn.fillna({"x": drawn["panel"].map(ends)}).astype({"series": int, "x": int})
    return _figure(drawn, ends), drawn


def _information(tables: Tables, estimate: dict[str, int]) -> pd.DataFrame:
    """The rows with their objective (`panel`), layer (`series`) and step (`x`, NaN at the end)."""
    known = {"label": "input", "reading": "plain", "positions": "all", "estimator": "clusters"}
    named = {"layer": "x", "mi_nats": "value", "clustering_error_nats": "noise"}
    columns = ["objective", "seed", "ci_low", "ci_high", WITHOUT, *named]
    rows = select(tables, "mutual_information", columns, **known, **estimate)
    change = since_layer_0(rows.rename(columns=named), ["objective"])
    return change.assign(**steps.at(change["objective"]), series=change["x"])


def _distances(tables: Tables, variant: str) -> pd.DataFrame:
    """The distances of a run at a step and the same run at its end, with columns as in
    `_information`."""
    columns = [*RUNS, "layer", "distance", "ci_low", "ci_high", WITHOUT]
    rows = select(tables, "pwcca_between_runs", columns, variant=variant, weights="x")
    rows = rows.assign(
        **steps.at(rows["objective_a"]), series=rows["layer"], value=rows["distance"]
    )
    of_one = (rows["panel"] == rows["objective_b"]) & (rows["seed_a"] == rows["seed_b"])
    of_one &= rows["x"].notna()
    if not of_one.any():
        raise NoRowsError(
            "the table pwcca_between_runs has no run at a step beside its end; name some in "
            "training_steps"
        )
    return rows[of_one]


def _over_runs(rows: pd.DataFrame, within: Range) -> pd.DataFrame:
    at = rows.fillna({"x": np.inf}).sort_values("x")
    return over_runs(at, BY, within).replace({"x": {np.inf: np.nan}})


def _figure(drawn: pd.DataFrame, ends: dict[str, int]) -> Figure:
    labels = {quantity: quantity for quantity in (style.INFORMATION, TO_THE_END)}
    figure, rows = layout.grid(style.labels(ends), labels, 3.6, [2.7, 2.7], (0.5, 0))
    top = int(drawn["series"].max())
    looks = {layer: style.Look(str(layer), style.shade(layer / top)) for layer in range(top + 1)}
    for quantity, panels in rows:
        for name, axes in panels.items():
            of = (drawn["panel"] == name) & (drawn["quantity"] == quantity)
            shown = drawn[of].sort_values(["series", "x"])
            style.curves(axes, shown, looks.__getitem__, reach=np.inf)
            steps.mark_end(axes, ends[name])
            steps.axis(axes, drawn.loc[drawn["panel"] == name, "x"])
        if quantity == TO_THE_END:
            next(iter(panels.values())).set_ylim(bottom=0)
    handles = style.key(drawn, looks)
    style.legend(figure, handles, columns=4 * len(ends), title=style.LAYERS)
    return figure
