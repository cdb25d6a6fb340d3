"""How well encoder heads follow syntactic relations: the best head beside the best fixed distance.

Source: heads, section 5.2, table 1.
"""

from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bottomup.figures import heads, layout, style
from bottomup.figures.head_functions import LABELS as OF_FUNCTIONS
from bottomup.figures.means import over_runs
from bottomup.figures.points import NoRowsError, Tables, in_order, join, over_seeds, points, select
from bottomup.measures.jackknife import UNIT, WITHOUT

NEEDED = [
    *("objective", "seed", "layer", "head", "function"),
    *("accuracy", "ci_low", "ci_high", WITHOUT, "baseline_accuracy", "n"),
]
# By function; as published, attention goes from the first to the second word.
LABELS = {
    function: label
    for function, label in OF_FUNCTIONS.items()
    if heads.function_kind(function) == "syntactic"
}
RELATIONS = list(dict.fromkeys(function.split("_")[0] for function in LABELS))
PLACES = {label: place for place, label in enumerate(LABELS.values())}
PANEL, DATASET = "mt", "WMT"  # what the published table is about, and the half of it to draw
HEAD = style.Look("best head", style.FUNCTIONS["syntactic"].color, "o", "")
BASELINE = style.Look("best fixed distance", "#000000", "")
BOX = style.light(style.GRAY, 0.4)  # from the baseline to the threshold
WIDTH = 0.56  # of a baseline; the published one has the rest, on the right
BEHIND = {"shift": 0.42, "width": 0.22}
COUNT: dict[str, Any] = {"fontsize": 5.5, "ha": "center", "va": "top", "color": "#555555"}


@style.paper()
def draw(tables: Tables, threshold: float) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `head_functions` and, if given, `syntactic_accuracy`.

    threshold: how far above the baseline a head is syntactic, as a share of the baseline. There is
    a panel for each objective, with the accuracy of the best head for each relation: the mean over
    runs, its interval, and below each the number of pairs of words that it rests on. Relations
    without pairs have no points.
    """
    drawn = _ours(tables, threshold)
    titles = style.labels(drawn["panel"])
    drawn = join([drawn, _published(tables, [*titles])])
    around = (0.5 if len(titles) > 1 else 1.5, 0.5)
    figure, rows = layout.grid(titles, {"accuracy": "accuracy"}, 2.5, [2.6], around)
    for _, panels in rows:
        for name, axes in panels.items():
            _panel(axes, drawn[drawn["panel"] == name])
            axes.set_ylim(-0.03, max(1, drawn["y"].max()) + 0.03)
    style.legend(figure, _key(drawn, threshold), columns=max(2, 2 * len(titles) - 1))
    return figure, drawn


def _ours(tables: Tables, threshold: float) -> pd.DataFrame:
    rows = select(tables, "head_functions", NEEDED, attention="encoder")
    best = _best(rows[rows["function"].isin(list(LABELS))])
    by = ["panel", "x"]
    baselines = over_seeds(best, "baseline_accuracy", by)[[*by, "y"]]
    parts = {
        "best head": over_runs(best.rename(columns={"accuracy": "value"}), by, UNIT),
        "baseline": baselines,
        "threshold": baselines.assign(y=(1 + threshold) * baselines["y"]),
    }
    return join([points(part, series=name, quantity="accuracy") for name, part in parts.items()])


def _best(rows: pd.DataFrame) -> pd.DataFrame:
    """The row of the best head for each run and relation, in our order: the one furthest above its
    baseline, as a share of it. Layers with unequal windows are asked for other pairs of words."""
    rows = rows.dropna(subset="accuracy")
    if rows.empty:
        raise NoRowsError(
            f"the table head_functions has no accuracy of any of {', '.join(LABELS)}; the held-out "
            f"text has too few such words; raise corpus.splits.test_words"
        )
    rows = rows.assign(above=rows["accuracy"] / rows["baseline_accuracy"])
    rows = rows.sort_values("above", ascending=False, kind="stable")
    best = rows.drop_duplicates(["objective", "seed", "function"])
    best = best.assign(panel=best["objective"], x=best["function"].map(LABELS))
    return in_order(best, "x", PLACES)


def _published(tables: Tables, names: list[str]) -> pd.DataFrame:
    """One half of the table, if it is given and there is a panel for it."""
    if "syntactic_accuracy" not in tables or PANEL not in names:
        return points(pd.DataFrame())
    table = tables["syntactic_accuracy"]
    table = table[table["panel"] == DATASET]
    return points(table, "published", panel=PANEL, quantity="accuracy")


def _panel(axes: Axes, shown: pd.DataFrame) -> None:
    ours, published = (
        {name: part.set_index("x") for name, part in of.groupby("series")}
        for of in (shown[shown["source"] == source] for source in ("ours", "published"))
    )
    head, baseline, threshold = (ours[name] for name in ("best head", "baseline", "threshold"))
    room = threshold["y"] - baseline["y"]
    axes.bar(_places(baseline), room, WIDTH, baseline["y"], color=BOX)
    _level(axes, baseline, WIDTH, color=BASELINE.color)
    axes.vlines(_places(head), head["low"], head["high"], color=HEAD.color, linewidth=0.9)
    axes.plot(_places(head), head["y"], **style.stroke(HEAD))
    for label, place in PLACES.items():
        at = axes.get_xaxis_transform()
        count = f"{head['n'][label]:,.0f}" if label in head.index else "few"
        axes.annotate(count, (place, 0), (0, -14), xycoords=at, textcoords="offset points", **COUNT)
    if published:
        _level(axes, published["baseline"], **BEHIND, color=style.light(BASELINE.color))
        head = published["best head"]
        places = [place + BEHIND["shift"] for place in _places(head)]
        axes.plot(places, head["y"], **style.stroke(HEAD, behind=True))
    _relations(axes)


def _places(rows: pd.DataFrame) -> list[int]:
    return [PLACES[label] for label in rows.index]


def _level(axes: Axes, rows: pd.DataFrame, width: float, color: str, shift: float = 0.0) -> None:
    """A short line for each relation."""
    left, right = (
        [place + shift + end for place in _places(rows)] for end in (-width / 2, width / 2)
    )
    axes.hlines(rows["y"], left, right, color=color, linewidth=1.2)


def _relations(axes: Axes) -> None:
    """Label all relations, measured or not: the directions, and the name below each two."""
    axes.set_xticks(list(PLACES.values()), list(PLACES))
    middles = [2 * place + 0.5 for place in range(len(RELATIONS))]
    axes.set_xticks(middles, RELATIONS, minor=True)
    axes.tick_params(axis="x", which="minor", length=0, pad=22)
    axes.set_xlabel("small: number of word pairs")
    axes.set_xlim(-0.6, len(PLACES) - 0.2)
    axes.grid(axis="x", visible=False)
    for middle in middles[:-1]:
        # Behind the published points, to the right of ours.
        axes.axvline(middle + 1.1, color=style.RC["grid.color"], linewidth=0.6, zorder=0.5)


def _key(drawn: pd.DataFrame, threshold: float) -> list:
    handles: list[Artist] = [Line2D([], [], label=HEAD.label, **style.stroke(HEAD))]
    if drawn["low"].notna().any():
        handles.append(style.bar(style.intervals(drawn), HEAD.color))
    handles.append(Line2D([], [], label=BASELINE.label, **style.stroke(BASELINE)))
    handles.append(Patch(color=BOX, linewidth=0, label=f"up to {100 * threshold:g} % above it"))
    if (drawn["source"] == "published").any():
        both = {"linestyle": "-", "color": style.light(BASELINE.color)}
        both["markeredgecolor"] = style.light(HEAD.color)
        behind = style.stroke(HEAD, behind=True) | both
        handles.append(Line2D([], [], label=f"{style.PUBLISHED}, {DATASET}", **behind))
    return handles
