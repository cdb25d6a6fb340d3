"""Panels of mutual information by layer, for the figures that show it.

Each row of panels is about one token, the input or the output:

    by clusters,        change since layer 0,    by a linear       change since
    chance level below  published curves behind  classifier        layer 0

Only changes have intervals: other text moves the values of all layers together, so that intervals
of these would hide what is compared, and would cross the entropy.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from bottomup.figures import style
from bottomup.figures.means import over_runs, since_layer_0
from bottomup.figures.points import Tables, by_layer, having, join, points, table
from bottomup.measures.jackknife import ANY, WITHOUT

NEEDED = [
    *("objective", "seed", "layer", "reading", "positions", "label", "estimator"),
    *("mi_nats", "ci_low", "ci_high", WITHOUT, "clustering_error_nats"),
    *("shuffled_mi_nats", "entropy_nats", "n_occurrences", "n_labels", "n_clusters", "n_tokens"),
]
# By panel: the estimator.
ESTIMATORS = {
    "clusters": "clusters",
    "change": "clusters",
    "classifier": "classifier",
    "classifier change": "classifier",
}
PAPER_COUNTS = "10,000 clusters"
MEASURED = "mutual information"
CHANGE = "change of mutual information"
SHUFFLED = "shuffled labels"
ENTROPY = "entropy"
CHANCE_HEIGHT = 0.2


@dataclass(frozen=True)
class Row:
    """One row of panels: the token it is about, and which rows of the table it shows.

    `published` are the curves to draw behind: `series` (an objective), `x` (layer), `y` (nats).
    """

    token: str
    select: dict[str, str]
    published: pd.DataFrame


def draw(tables: Tables, rows: list[Row], estimate: dict[str, int]) -> tuple[Figure, pd.DataFrame]:
    """The figure of `rows` from the table `mutual_information`, and its points.

    `estimate` is the one to show of those measured, as values of columns: `n_clusters`, which the
    classifier has not, and `n_tokens`.
    """
    measured = table(tables, "mutual_information", NEEDED)
    for column, value in estimate.items():
        measured = measured[measured[column].isna() | (measured[column] == value)]
    parts = [select(measured, row.select) for row in rows]
    estimators = set(pd.concat(parts)["estimator"])
    panels = [panel for panel, estimator in ESTIMATORS.items() if estimator in estimators]
    drawn = join([_points(row, part) for row, part in zip(rows, parts, strict=True)])
    figure = Figure(figsize=(2.8 * len(panels) + 0.2, 2.8 * len(rows) + 0.4), layout="constrained")
    heights = [1, CHANCE_HEIGHT] * len(rows)
    grid = figure.add_gridspec(len(heights), len(panels), height_ratios=heights)
    for i, (row, part) in enumerate(zip(rows, parts, strict=True)):
        for j, panel in enumerate(panels):
            shown = drawn[drawn["panel"] == f"{row.token}: {panel}"]
            if len(shown):
                axes = _panel(figure, grid[2 * i : 2 * i + 2, j], shown)
                axes.set_title(_title(panel, part, shown))
                axes.set_ylabel(f"{shown['quantity'].iloc[0]}\nwith the {row.token} token, nats")
            else:
                hole = figure.add_subplot(grid[2 * i : 2 * i + 2, j])
                hole.set_axis_off()
                style.say(hole, style.NO_VALUES)
    style.legend(figure, _key(drawn), columns=8)
    return figure, drawn


def select(measured: pd.DataFrame, wanted: Mapping[str, str | int]) -> pd.DataFrame:
    """The rows with these values, by layer, as `series` and `x`; NoRowsError if there are none."""
    part = having(measured, "mutual_information", **wanted)
    part = by_layer(part, mi_nats="value", clustering_error_nats="noise")
    return part.assign(noise=part["noise"].astype(float).fillna(0))


def _points(row: Row, part: pd.DataFrame) -> pd.DataFrame:
    clusters = part[part["estimator"] == "clusters"]
    classifier = part[part["estimator"] == "classifier"]
    return join(
        [
            _absolute(clusters, f"{row.token}: clusters"),
            _means(clusters, "shuffled_mi_nats", f"{row.token}: clusters", SHUFFLED),
            change(clusters, ["series"]).assign(panel=f"{row.token}: change"),
            _published(row.published, clusters, f"{row.token}: change"),
            _absolute(classifier, f"{row.token}: classifier"),
            change(classifier, ["series"]).assign(panel=f"{row.token}: classifier change"),
        ]
    )


def _absolute(part: pd.DataFrame, panel: str) -> pd.DataFrame:
    """MI and the entropy."""
    # Models that lose other words see other entropies: the one that none can exceed.
    entropy = pd.DataFrame({"y": [part["entropy_nats"].max()]}).dropna()
    return join(
        [
            _means(part, "value", panel, MEASURED),
            points(entropy, panel=panel, quantity=ENTROPY),
        ]
    )


def _means(part: pd.DataFrame, value: str, panel: str, quantity: str) -> pd.DataFrame:
    means = part.groupby(["series", "x"], sort=False)[value].mean().rename("y").reset_index()
    return points(means, panel=panel, quantity=quantity)


def change(part: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Points of MI less that at layer 0, in pairs, for each group `by`; rows as from `select`."""
    paired = since_layer_0(part, by)
    return points(over_runs(paired, [*by, "x"], ANY), quantity=CHANGE)


def _published(published: pd.DataFrame, part: pd.DataFrame, panel: str) -> pd.DataFrame:
    """The published curves of our objectives less their value at layer 0."""
    curves = published[published["series"].isin(part["series"])]
    first = curves.loc[curves["x"] == 0, ["series", "y"]]
    both = curves.merge(first, on="series", suffixes=("", "_first"))
    both = both.assign(y=both["y"] - both["y_first"])
    return points(both, "published", panel=panel, quantity=CHANGE)


def _panel(figure: Figure, place: SubplotSpec, shown: pd.DataFrame) -> Axes:
    by = dict(list(shown.groupby("quantity")))
    curves = shown[shown["quantity"].isin([MEASURED, CHANGE])]
    if SHUFFLED in by:
        grid, rows, column = place.get_gridspec(), place.rowspan, place.colspan.start
        axes = figure.add_subplot(grid[rows[0], column])
        bottom = figure.add_subplot(grid[rows[1], column], sharex=axes)
        axes.tick_params(labelbottom=False)
    else:
        axes = bottom = figure.add_subplot(place)
    style.curves(axes, curves, style.objective)
    if CHANGE in by:
        style.across(axes)
    for entropy in by[ENTROPY]["y"] if ENTROPY in by else ():
        style.level(axes, entropy, "H")
    if SHUFFLED in by:
        _chance(bottom, by[SHUFFLED], np.ptp(axes.get_ylim()))
    style.layer_axis(bottom)
    return axes


def _chance(axes: Axes, chance: pd.DataFrame, span_above: float) -> None:
    # The chance level lies far below the curves, so it has its own axis, at the same scale (nats
    # per inch) unless it needs more.
    def dotted(series: str) -> style.Look:
        return replace(style.objective(series), linestyle=":", marker="")

    style.curves(axes, chance, dotted)
    low, high = chance["y"].min(), chance["y"].max()
    span = max(CHANCE_HEIGHT * span_above, 1.3 * (high - low))
    axes.set_ylim((low + high - span) / 2, (low + high + span) / 2)
    axes.yaxis.set_major_locator(MaxNLocator(2))


def _title(panel: str, part: pd.DataFrame, shown: pd.DataFrame) -> str:
    part = part[part["estimator"] == ESTIMATORS[panel]]
    counts = style.counts(part, n_labels="token", n_occurrences="occurrence")
    if panel == "classifier":
        return f"by a linear classifier, a lower bound\n{counts}"
    if panel == "classifier change":
        return "by a linear classifier,\nchange since layer 0"
    if panel == "clusters":
        return f"by {style.count(part['n_clusters'], 'cluster')}\n{counts}"
    published = (shown["source"] == "published").any()
    behind = f"\n{style.PUBLISHED}: {PAPER_COUNTS}" if published else ""
    return f"by clusters, change since layer 0{behind}"


def _key(drawn: pd.DataFrame) -> list:
    ours = drawn[drawn["quantity"].isin([MEASURED, CHANGE])]
    handles = style.key(ours)
    if (drawn["quantity"] == SHUFFLED).any():
        handles.append(Line2D([], [], color=style.GRAY, linestyle=":", label=SHUFFLED))
    return handles
