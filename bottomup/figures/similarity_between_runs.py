"""How alike runs are, by layer, by measures other than PWCCA: runs of different objectives, two
runs of one objective, and models from elsewhere with these and with untrained twins.

Not in the papers.
"""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.core.errors import UserError
from bottomup.figures import pairs, style
from bottomup.figures.points import Tables, of_one_run, points, table

NEEDED = [*pairs.RUNS, "layer", "measure", "value", "ci_low", "ci_high", "n_occurrences"]
OF_CHANCE = ["null", "calibrated"]
SIMILARITY, DISTANCE = "similarity", "distance"
# By quantity, which is a row of panels: the value for equal views, and the titles by measure.
SAME = {SIMILARITY: 1, DISTANCE: 0}
AXES = {quantity: f"{quantity} ({same} = same)" for quantity, same in SAME.items()}
CALIBRATED = "calibrated (1 = same, 0 = chance)"
TITLES = {
    SIMILARITY: {"cka_debiased": "linear CKA, debiased", "cka": "linear CKA, plain", "rsa": "RSA"},
    DISTANCE: {"procrustes_distance": "Procrustes distance", "svcca_distance": "SVCCA distance"},
}
QUANTITIES = {measure: quantity for quantity, titles in TITLES.items() for measure in titles}


@style.paper()
def draw(tables: Tables, calibrated: bool = False) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `similarity_between_runs`. A panel for each measure.

    Similarities share an axis; distances, whose ranges differ, do not. Calibrated by what permuted
    rows share, all are similarities from 0 to 1.
    """
    columns = [*NEEDED, *OF_CHANCE] if calibrated else NEEDED
    measured = table(tables, "similarity_between_runs", columns)
    _check(list(measured["measure"].unique()))
    measured = _calibrated(measured) if calibrated else measured
    kept = pairs.named(measured)
    kept = kept.assign(quantity=kept["measure"].map(QUANTITIES), panel=kept["measure"])
    kept = kept.sort_values(["panel", "x"])
    drawn = points(of_one_run(kept))
    return _figure(drawn, kept, calibrated), drawn


def _calibrated(measured: pd.DataFrame) -> pd.DataFrame:
    """The calibrated values, with the ends of their intervals on the same scale."""
    same = measured["measure"].map(QUANTITIES).map(SAME)
    ends = {
        end: 1 - (same - measured[end]) / (same - measured["null"]) for end in ("ci_low", "ci_high")
    }
    low, high = (
        pd.DataFrame(ends).agg(side, axis="columns", skipna=False) for side in ("min", "max")
    )
    return measured.assign(value=measured["calibrated"], ci_low=low.clip(0), ci_high=high.clip(0))


def _check(measures: list[str]) -> None:
    """Raise UserError if a measure is not known as a similarity or a distance."""
    if unknown := set(measures) - set(QUANTITIES):
        raise UserError(
            f"the table similarity_between_runs has {', '.join(sorted(unknown))}; this figure "
            f"shows {', '.join(QUANTITIES)}; measure these alone, or leave the figure out"
        )


def _figure(drawn: pd.DataFrame, kept: pd.DataFrame, calibrated: bool) -> Figure:
    looks = pairs.looks(drawn["series"])
    groups = pairs.in_panels(drawn["series"].unique())
    rows = [(quantity, some) for quantity in TITLES for some in groups]
    figure = Figure(figsize=(9.6, 3.2 * len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), max(map(len, TITLES.values())))
    similar = [axes for row, (quantity, _) in zip(grid, rows, strict=True) for axes in row]
    similar = similar if calibrated else similar[: len(similar) // len(TITLES)]
    for axes in similar[1:]:
        axes.sharey(similar[0])
    for row, (quantity, some) in zip(grid, rows, strict=True):
        titles = TITLES[quantity]
        for axes, measure in zip(row, titles, strict=False):
            shown = drawn[(drawn["panel"] == measure) & drawn["series"].isin(some)]
            style.curves(axes, shown, pairs.look)
            counts = kept.loc[kept["measure"] == measure, "n_occurrences"]
            axes.set_title(f"{titles[measure]}\n{style.count(counts, 'occurrence')}")
            style.layer_axis(axes)
            axes.set_ylabel(CALIBRATED if calibrated else AXES[quantity])
        for axes in row[: len(titles)]:
            style.level(axes, 1 if calibrated else SAME[quantity], "same")
        for axes in row[len(titles) :]:
            axes.remove()
    style.legend(figure, style.key(drawn, looks), columns=4)
    return figure
