"""Panels of mutual information by layer, for the figures that show it.

Each row of panels is about one token, the input or the output:

    by clusters,        by clusters, change since layer 0,  by a linear classifier
    chance level below  published curves behind
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from bottomup.errors import UserError
from bottomup.figures import style
from bottomup.figures.points import Tables, join, over_seeds, points, since_layer_0, table

NEEDED = [
    *("objective", "seed", "layer", "reading", "positions", "label", "estimator"),
    *("mi_nats", "ci_low", "ci_high", "shuffled_mi_nats", "entropy_nats"),
    *("n_occurrences", "n_labels", "n_clusters"),
]
ESTIMATORS = {"clusters": "clusters", "change": "clusters", "classifier": "classifier"}
PAPER_COUNTS = "1,000 tokens, 10,000 clusters"
MEASURED = "mutual information"
CHANGE = "change of mutual information"
INTERVAL = "95 % interval"
SHUFFLED = "shuffled labels"
ENTROPY = "entropy"
CHANCE_HEIGHT = 0.2
NO_PUBLISHED = pd.DataFrame(columns=["panel", "series", "x", "y"])


@dataclass(frozen=True)
class Row:
    """One row of panels: the token it is about, and which rows of the table it shows.

    `published` are the curves to draw behind: `series` (an objective), `x` (layer), `y` (nats).
    """

    token: str
    select: dict[str, str]
    published: pd.DataFrame


def draw(tables: Tables, rows: list[Row], n_clusters: int) -> tuple[Figure, pd.DataFrame]:
    """The figure of `rows` from the table `mutual_information`, and its points.

    `n_clusters` is the number of clusters to show, one of those measured.
    """
    measured = table(tables, "mutual_information", NEEDED)
    measured = measured[measured["n_clusters"].isna() | (measured["n_clusters"] == n_clusters)]
    parts = [select(measured, row.select) for row in rows]
    estimators = set(pd.concat(parts)["estimator"])
    panels = [panel for panel, estimator in ESTIMATORS.items() if estimator in estimators]
    drawn = join([_points(row, part) for row, part in zip(rows, parts, strict=True)])
    figure = Figure(figsize=(3.2 * len(panels) + 0.2, 2.8 * len(rows) + 0.4), layout="constrained")
    heights = [1, CHANCE_HEIGHT] * len(rows)
    grid = figure.add_gridspec(len(heights), len(panels), height_ratios=heights)
    for i, (row, part) in enumerate(zip(rows, parts, strict=True)):
        for j, panel in enumerate(panels):
            shown = drawn[drawn["panel"] == f"{row.token}: {panel}"]
            if len(shown):
                axes = _panel(figure, grid[2 * i : 2 * i + 2, j], shown)
                axes.set_title(_title(panel, part, shown))
                axes.set_ylabel(f"{shown['quantity'].iloc[0]}\nwith the {row.token} token, nats")
    style.legend(figure, _key(drawn), columns=8)
    return figure, drawn


def select(measured: pd.DataFrame, wanted: dict[str, str]) -> pd.DataFrame:
    """The rows with these values, by layer, as `series` and `x`; UserError if there are none."""
    part = measured[(measured[list(wanted)] == pd.Series(wanted)).all(axis="columns")]
    if part.empty:
        names = ", ".join(f"{column} {value}" for column, value in wanted.items())
        found = ", ".join(style.ordered(measured["objective"]))
        raise UserError(
            f"the table mutual_information has no rows with {names}; found objectives {found}; "
            f"measure it, or leave the figure out"
        )
    return part.rename(columns={"objective": "series", "layer": "x"}).sort_values("x")


def _points(row: Row, part: pd.DataFrame) -> pd.DataFrame:
    clusters = part[part["estimator"] == "clusters"]
    classifier = part[part["estimator"] == "classifier"]
    chance = over_seeds(clusters, "shuffled_mi_nats", ["series", "x"])
    return join(
        [
            _absolute(clusters, f"{row.token}: clusters"),
            points(chance, panel=f"{row.token}: clusters", quantity=SHUFFLED),
            _change(clusters, row.published, f"{row.token}: change"),
            _absolute(classifier, f"{row.token}: classifier"),
        ]
    )


def _absolute(part: pd.DataFrame, panel: str) -> pd.DataFrame:
    """MI, the envelope of the seeds' intervals around it, and the entropy."""
    information = over_seeds(part, "mi_nats", ["series", "x"])
    interval = part.groupby(["series", "x"], sort=False).agg(
        low=("ci_low", "min"), high=("ci_high", "max")
    )
    interval = information[["series", "x", "y"]].merge(interval.reset_index())
    # Models that lose other words see other entropies: the one that none can exceed.
    entropy = pd.DataFrame({"y": [part["entropy_nats"].max()]}).dropna()
    return join(
        [
            points(information, panel=panel, quantity=MEASURED),
            points(interval, panel=panel, quantity=INTERVAL),
            points(entropy, panel=panel, quantity=ENTROPY),
        ]
    )


def _change(part: pd.DataFrame, published: pd.DataFrame, panel: str) -> pd.DataFrame:
    """MI less MI at layer 0, each seed by itself; the published curves likewise."""
    ours = since_layer_0(part, "mi_nats", "x", ["series", "seed"])
    theirs = since_layer_0(
        published[published["series"].isin(part["series"])], "y", "x", ["series"]
    )
    same = {"panel": panel, "quantity": CHANGE}
    return join(
        [
            points(over_seeds(ours, "mi_nats", ["series", "x"]), **same),
            points(theirs, "published", **same),
        ]
    )


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
    if INTERVAL in by:
        _intervals(axes, by[INTERVAL])
        for entropy in by[ENTROPY]["y"]:
            style.level(axes, entropy, "H")
    else:
        axes.axhline(0, color="black", linewidth=0.7)
    if SHUFFLED in by:
        _chance(bottom, by[SHUFFLED], np.ptp(axes.get_ylim()))
    style.layer_axis(bottom)
    return axes


def _intervals(axes: Axes, intervals: pd.DataFrame) -> None:
    for row in intervals.itertuples():
        axes.vlines(row.x, row.low, row.high, color=style.objective(row.series).color, linewidth=1)


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
    n_labels, n_occurrences = style.count(part["n_labels"]), style.count(part["n_occurrences"])
    counts = f"{n_labels} tokens, {n_occurrences} occurrences"
    if panel == "classifier":
        return f"by a linear classifier (a lower bound)\n{counts}"
    if panel == "clusters":
        return f"by {style.count(part['n_clusters'])} clusters\n{counts}"
    published = (shown["source"] == "published").any()
    behind = f"\n{style.PUBLISHED}: {PAPER_COUNTS}" if published else ""
    return f"by clusters, change since layer 0{behind}"


def _key(drawn: pd.DataFrame) -> list:
    ours = drawn[drawn["quantity"].isin([MEASURED, CHANGE])]
    looks = [style.objective(name) for name in style.ordered(ours["series"])]
    handles = style.key(ours, looks, style.SEEDS)
    if drawn.loc[drawn["quantity"] == INTERVAL, "low"].notna().any():
        interval = {"marker": "|", "markersize": 9, "linestyle": ""}
        handles.append(Line2D([], [], color=style.GRAY, label=INTERVAL, **interval))
    if (drawn["quantity"] == SHUFFLED).any():
        handles.append(Line2D([], [], color=style.GRAY, linestyle=":", label=SHUFFLED))
    return handles
