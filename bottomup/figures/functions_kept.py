"""What the encoder heads do that survive pruning: stacked bars, one for each pruned model.

Source: heads, section 6.2.2, figure 8.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bottomup.core.errors import UserError
from bottomup.figures import heads, style
from bottomup.figures.points import Tables, join, points, select

NEEDED = [*heads.MODEL, "layer", "head", "function", "held"]
# From the bottom of a bar, so that classes that share a color are next to each other if possible.
CLASSES = [
    *("positional", "positional + syntactic", "syntactic", "syntactic + rare"),
    *("positional + syntactic + rare", "positional + rare", "rare", "unknown"),
]
WIDTH = 0.84  # of a bar
NONE: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": 7, "color": style.GRAY}
PANEL = heads.panel("mt", "encoder")  # what the published figure is about
PUBLISHED = style.Look(f"{style.PUBLISHED}: heads with a function", "#000000", "D")


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `pruned_functions`, `gates` and, if given,
    `functions_retained`.

    A panel for each objective and the attention that has gates. Bars are models, by penalty. `x` is
    the number of encoder heads kept, `y` the number of them with the functions of `series`; both
    are means over seeds. Published models are drawn as far as our bars go.
    """
    functions = select(tables, "pruned_functions", NEEDED, method="gates")
    gates = heads.last_gates(tables, method="gates", kind="encoder")
    # A model without heads has no functions, and counts.
    gates = gates.merge(functions[["objective", "attention"]].drop_duplicates())
    counts = _counts(gates, functions)
    ours = _points(counts)
    drawn = join([ours, _published(tables, ours)])
    names = heads.panels(counts)
    bars = ours.groupby("panel")["quantity"].nunique()[names]
    width = max(5, 0.27 * bars.clip(lower=5).sum() + 1.2)
    figure = Figure(figsize=(width, 3.2), layout="constrained")
    ratios = {"width_ratios": bars.clip(lower=5)}
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False, gridspec_kw=ratios)[0]
    for axes, name in zip(panels, names, strict=True):
        _panel(axes, drawn[drawn["panel"] == name])
        axes.set_title(heads.title(name, names, heads.PRUNED).replace(", ", "\n"))
    style.whole_numbers(panels[0].yaxis)
    panels[0].set_ylabel("heads, by what they do")
    looks = style.FUNCTIONS.values()
    handles: list[Artist] = [Patch(color=look.color, label=look.label) for look in looks]
    if len(drawn) > len(ours):
        handles.append(
            Line2D([], [], label=PUBLISHED.label, **style.stroke(PUBLISHED, behind=True))
        )
    style.legend(figure, handles, columns=4)
    return figure, drawn


def _counts(gates: pd.DataFrame, functions: pd.DataFrame) -> pd.DataFrame:
    """The number of kept heads in each class (`y`) and in all (`x`): a row for each model and
    class."""
    head = [*heads.MODEL, "layer", "head"]
    kinds = functions["function"].map(heads.function_kind).where(functions["held"])
    classes = functions.assign(series=kinds).groupby(head)["series"].agg(_class).reset_index()
    kept = gates[gates["kept"]].merge(classes, "left", head)
    unseen = kept[kept["series"].isna()]
    if len(unseen):
        of = ", ".join(f"{name} {unseen.iloc[0][name]}" for name in head)
        raise UserError(
            f"the table pruned_functions has no functions of a head that was kept ({of}); measure "
            f"those of all pruned models"
        )
    counts = kept.groupby([*heads.MODEL, "series"]).size().rename("y").reset_index()
    models = gates[heads.MODEL].drop_duplicates().merge(pd.Series(CLASSES, name="series"), "cross")
    counts = models.merge(counts, "left").fillna({"y": 0})
    return counts.assign(x=counts.groupby(heads.MODEL)["y"].transform("sum"))


def _class(kinds: pd.Series) -> str:
    """The class of a head, from the kinds of its functions; an empty kind is a function not
    held."""
    return " + ".join(kind for kind in style.FUNCTIONS if kind in set(kinds)) or "unknown"


def _points(counts: pd.DataFrame) -> pd.DataFrame:
    quantity = "heads, penalty " + counts["penalty"].map("{:g}".format)
    rows = heads.with_panel(counts).assign(quantity=quantity)
    by = ["panel", "penalty", "quantity", "series"]
    means = rows.groupby(by, sort=False)[["x", "y"]].mean().reset_index()
    order = {"by": ["x", "penalty"], "ascending": [False, True], "kind": "stable"}
    return points(means.sort_values(**order))


def _published(tables: Tables, ours: pd.DataFrame) -> pd.DataFrame:
    """The published models whose number of kept heads is within the range of our bars."""
    kept = ours.loc[ours["panel"] == PANEL, "x"]
    if "functions_retained" not in tables or kept.empty:
        return points(pd.DataFrame())
    curve = tables["functions_retained"]
    curve = curve[curve["x"].between(kept.min(), kept.max())]
    return points(curve, "published", panel=PANEL, quantity="heads")


def _panel(axes: Axes, shown: pd.DataFrame) -> None:
    _bars(axes, shown[shown["source"] == "ours"])
    if (shown["source"] == "published").any():
        _line(axes, shown)
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("encoder heads kept")


def _bars(axes: Axes, shown: pd.DataFrame) -> None:
    labels = []
    for place, (_, bar) in enumerate(shown.groupby("quantity", sort=False)):
        bottom = 0.0
        for row in bar.itertuples():
            kinds = row.series.split(" + ")
            for part, kind in enumerate(kinds):
                left = place + WIDTH * (part / len(kinds) - 0.5)
                width, color = WIDTH / len(kinds), style.FUNCTIONS[kind].color
                axes.bar(left, row.y, width, bottom, align="edge", color=color)
            bottom += row.y
        if not bottom:
            axes.annotate("none", (place, 0), (0, 2), textcoords="offset points", **NONE)
        # A line between heads, as in the paper, where bars are columns of heads.
        edges = [head for head in range(1, int(bottom) + 1)]
        axes.hlines(edges, place - 0.5 * WIDTH, place + 0.5 * WIDTH, color="white", linewidth=0.5)
        labels.append(f"{bar['x'].iloc[0]:.1f}".removesuffix(".0"))
    axes.set_xticks(range(len(labels)), labels)


def _line(axes: Axes, shown: pd.DataFrame) -> None:
    """The published models in front of a bar or between two bars, by the number of heads kept."""
    published = shown[shown["source"] == "published"]
    kept = shown.loc[shown["source"] == "ours", ["quantity", "x"]].drop_duplicates()
    # From few heads to many, as `interp` needs them.
    places = np.interp(published["x"], kept["x"][::-1], np.arange(len(kept))[::-1])
    look = style.stroke(PUBLISHED, behind=True)
    axes.plot(places, published["y"], **look | {"zorder": 3})
