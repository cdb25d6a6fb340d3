"""When attention heads take on functions: a column for each objective, by the number of updates.

Not in the papers. From the top: encoder heads with a function, the best head for each kind of
function, the best head for each syntactic relation, and how much heads differ from each other.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bottomup.figures import heads, layout, steps, style
from bottomup.figures.points import Tables, join, over_seeds, points, select
from bottomup.figures.syntactic_heads import LABELS, RELATIONS

COUNT, ACCURACY = "heads with\na function", "accuracy of the\nbest head"
GAIN = "best head above the\nbest fixed distance"
UNLIKE = "confidence, and\nshare of relevance"
THRESHOLD: dict[str, Any] = {"linewidth": 0.8, "linestyle": (0, (4, 2))}
PLACE = ["objective", "seed"]
NEEDED = [*PLACE, "layer", "head", "function", "accuracy", "baseline_accuracy", "held"]
OF_RELATIONS = dict(zip(RELATIONS, ["#006D4F", "#56B4E9", "#D55E00", "#882255"], strict=True))
LOOKS = {
    **style.FUNCTIONS,
    **{name: style.Look(name, color, ".") for name, color in OF_RELATIONS.items()},
    "highest confidence": style.Look("highest confidence", "#000000", "^"),
    "mean confidence": style.Look("mean confidence", "#000000", "_", (0, (2, 1.5))),
    "most relevant of a layer": style.Look("most relevant of a layer", "#0072B2", "s"),
}


@style.paper()
def draw(tables: Tables, thresholds: dict[str, float]) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `head_functions` and `head_importance` of runs at steps and
    at their end, and a table of metrics for each run, named `objective-seed`.

    thresholds: from which value a head has a function, by kind (`heads.thresholds`). Only encoder
    heads count; points are means over seeds, with the lowest and the highest seed.
    """
    functions = select(tables, "head_functions", NEEDED, attention="encoder")
    functions = functions[functions["function"] != "rarest"]  # held if two_rarest is
    functions = functions.assign(kind=functions["function"].map(heads.function_kind))
    parts = {
        COUNT: _counts(functions),
        ACCURACY: _best(functions[functions["kind"].isin(["positional", "rare"])], "kind"),
        GAIN: _gains(functions),
        UNLIKE: _unlike(tables),
    }
    drawn = join([_points(rows, quantity) for quantity, rows in parts.items()])
    lacking = "the table head_functions has no run at a step"
    drawn, ends = steps.with_ends(tables, drawn, "panel", lacking)
    return _figure(drawn, ends, thresholds), drawn


def _counts(functions: pd.DataFrame) -> pd.DataFrame:
    """The number of a run's heads with a function of each kind."""
    have = functions.groupby([*PLACE, "kind", "layer", "head"])["held"].any()
    counts = have.groupby([*PLACE, "kind"]).sum().rename("value").reset_index()
    return counts.rename(columns={"kind": "series"})


def _best(functions: pd.DataFrame, by: str, value: str = "accuracy") -> pd.DataFrame:
    best = functions.groupby([*PLACE, by])[value].max().rename("value").dropna().reset_index()
    return best.rename(columns={by: "series"})


def _gains(functions: pd.DataFrame) -> pd.DataFrame:
    """How far the best head, of both directions, is above the best fixed distance, as a share of
    it."""
    asked = functions[functions["function"].isin(list(LABELS))]
    gain = asked["accuracy"] / asked["baseline_accuracy"] - 1
    return _best(
        asked.assign(relation=asked["function"].str.split("_").str[0], gain=gain),
        "relation",
        "gain",
    )


def _unlike(tables: Tables) -> pd.DataFrame:
    """Confidence over heads, and the largest share of a layer's relevance, mean over layers."""
    needed = [*heads.HEAD, "importance", "value"]
    rows = select(tables, "head_importance", needed, attention="encoder")
    confidence = rows[rows["importance"] == "confidence"].groupby(PLACE)["value"]
    relevance = rows[rows["importance"] == heads.RELEVANCE]
    highest = relevance.groupby([*PLACE, "layer"])["value"].max().groupby(PLACE)
    by_series = {
        "highest confidence": confidence.max(),
        "mean confidence": confidence.mean(),
        "most relevant of a layer": highest.mean(),
    }
    parts = [
        values.rename("value").reset_index().assign(series=k) for k, values in by_series.items()
    ]
    return pd.concat(parts)


def _points(rows: pd.DataFrame, quantity: str) -> pd.DataFrame:
    rows = rows.assign(**steps.at(rows["objective"])).fillna({"x": -1})
    drawn = points(over_seeds(rows, "value", ["panel", "series", "x"]), quantity=quantity)
    return drawn.assign(x=drawn["x"].where(drawn["x"] >= 0))


def _figure(drawn: pd.DataFrame, ends: dict[str, int], thresholds: dict[str, float]) -> Figure:
    labels = {quantity: quantity for quantity in (COUNT, ACCURACY, GAIN, UNLIKE)}
    titles = style.labels(ends)
    figure, rows = layout.grid(titles, labels, 3.6, [2.05] * len(labels), (1.9, 0))
    levels = {ACCURACY: ["positional", "rare"], GAIN: ["syntactic"]}
    for quantity, panels in rows:
        shown = drawn[drawn["quantity"] == quantity]
        for name, axes in panels.items():
            style.curves(axes, shown[shown["panel"] == name], LOOKS.__getitem__, reach=np.inf)
            steps.mark_end(axes, ends[name])
            steps.axis(axes, drawn.loc[drawn["panel"] == name, "x"])
            for kind in levels.get(quantity, []):
                color = LOOKS[kind].color
                axes.axhline(thresholds[kind], color=color, **THRESHOLD)
        looks = {name: look for name, look in LOOKS.items() if name in set(shown["series"])}
        handles = style.key(shown, looks, style.SEEDS)
        if quantity in levels:
            handles.append(Line2D([], [], label="threshold", color=style.GRAY, **THRESHOLD))
        beside = [*panels.values()][-1]
        beside.legend(handles=handles, loc="center left", bbox_to_anchor=(1.02, 0.5))
    most = drawn.loc[drawn["quantity"] == COUNT, ["y", "high"]].max(axis=None)
    for quantity, panels in rows:
        first = next(iter(panels.values()))
        if quantity != GAIN:
            first.set_ylim(bottom=0)
        if quantity == COUNT:
            first.set_ylim(top=max(1, 1.05 * most))
            style.whole_numbers(first.yaxis, 5)
    return figure
