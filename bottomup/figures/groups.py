"""Panels of groups of tokens, for the figures of change and of influence.

There is a column for each objective. A dozen published curves behind a dozen of ours would hide
each other, so they have their own row, below ours, with the same axis.
"""

from collections.abc import Callable
from itertools import zip_longest
from typing import Literal

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bottomup.figures import layout, style
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, having, in_order, points, published_in, table
from bottomup.measures.groups import RANKS
from bottomup.measures.jackknife import UNIT, WITHOUT

# The light end of the colormap is too faint for lines on white.
SHADES = matplotlib.colormaps["viridis"].resampled(len(RANKS) + 1)
WIDTH = 2.35  # inches of a panel
LEGEND = 1.9  # inches
DASHED = (0, (2.5, 1.2))
# Related parts of speech share a color and a marker; the second of the two is dashed.
LOOKS = {
    "frequency_rank": {
        name: style.Look(name, to_hex(SHADES(place)), "o") for place, name in enumerate(RANKS)
    },
    "pos": {
        "NN": style.Look("NN: noun", "#0072B2", "o"),
        "NNP": style.Look("NNP: proper noun", "#0072B2", "o", DASHED),
        "PRP": style.Look("PRP: pronoun", "#CC79A7", "s"),
        "PRP$": style.Look("PRP$: possessive", "#CC79A7", "s", DASHED),
        "JJ": style.Look("JJ: adjective", "#E69F00", "v"),
        "VB": style.Look("VB: verb", "#D55E00", "^"),
        "RB": style.Look("RB: adverb", "#D55E00", "^", DASHED),
        "IN": style.Look("IN: preposition", "#009E73", "D"),
        "CC": style.Look("CC: conjunction", "#009E73", "D", DASHED),
        "DT": style.Look("DT: determiner", "#56B4E9", "P"),
        "comma": style.Look("comma", "#000000", "X"),
        "period": style.Look("period", "#000000", "X", DASHED),
        "CD": style.Look("CD: numeral", "#E69F00", "v", DASHED),
    },
}
TITLES = {"frequency_rank": "frequency rank", "pos": "part of speech"}
SOURCES = {"ours": "this study", "published": style.PUBLISHED}
NEEDED = [
    *("objective", "seed", "grouping", "group", "matching"),
    *("distance", "ci_low", "ci_high", WITHOUT),
]


def select(tables: Tables, name: str, grouping: str, columns: list[str]) -> pd.DataFrame:
    """The rows of the table `name` with one grouping, its groups in order; NoRowsError for none.

    Groups are the published ones, since the paper's curves stand beside ours.
    """
    measured = table(tables, name, [*NEEDED, *columns])
    rows = having(measured, name, grouping=grouping, matching="published")
    rows = rows.sort_values(columns[0]).rename(columns={"objective": "panel", "group": "series"})
    return in_order(rows, "series", LOOKS[grouping])


def beyond_embeddings(rows: pd.DataFrame, model: str) -> pd.DataFrame:
    """Without the step out of the embeddings, unless a model, by the column `model`, has no
    other."""
    top = rows.groupby(model)["layer_b"].transform("max")
    return rows[(rows["layer_b"] > 1) | (top == 1)]


def ours(rows: pd.DataFrame) -> pd.DataFrame:
    """Points of rows with `panel`, `series` and `x`."""
    rows = rows.rename(columns={"distance": "value"})
    summary = over_runs(rows, ["panel", "series", "x"], UNIT)
    return points(summary, quantity="PWCCA distance")


def published(tables: Tables, name: str, panels: dict[str, str]) -> pd.DataFrame:
    """The points of a published figure, if given; `panels`: our panels, by the name of theirs."""
    curves = published_in(tables, name)
    curves = curves[curves["panel"].isin(list(panels))]
    curves = curves.assign(panel=curves["panel"].map(panels))
    return points(curves, "published", quantity="PWCCA distance")


def draw(
    drawn: pd.DataFrame, panels: list[str], grouping: str, counts: str, finish: Callable
) -> Figure:
    """The figure of `drawn`, a column for each of `panels`; more than a row holds are in several.

    The legend states the number of occurrences, `counts`; `finish(axes, points)` sets the axes of
    one panel.
    """
    sources = [name for name in ("ours", "published") if (drawn["source"] == name).any()]
    columns = min(len(panels), layout.in_a_row(WIDTH))
    rows = [(source, some) for source in sources for some in layout.in_rows(panels, columns)]
    rows = [
        (source, some)
        for source, some in rows
        if ((drawn["source"] == source) & drawn["panel"].isin(some)).any()
    ]
    width, height = WIDTH * columns + 0.4, 2.5 * len(rows) + 0.2
    figure = Figure(figsize=(width, height), layout="constrained")
    grid = figure.subplots(len(rows), columns, sharey=True, squeeze=False)
    empty: list[tuple[Axes, str | None]] = []
    for (source, some), row in zip(rows, grid, strict=True):
        for panel, axes in zip_longest(some, row):
            shown = drawn[(drawn["source"] == source) & (drawn["panel"] == panel)]
            if shown.empty:
                axes.set_axis_off()
                empty.append((axes, panel))
            else:
                _panel(axes, shown, LOOKS[grouping])
                finish(axes, shown)
        row[0].set_ylabel(f"{SOURCES[source]}\n{style.DISTANCE}")
    # The last of them has the legend, which without one has a place of its own.
    figure.set_figwidth(width if empty else width + LEGEND)
    for axes, panel in empty[:-1]:
        if panel:
            style.say(axes, f"{style.objective(panel).label}:\nnot in the paper")
    _key(empty[-1][0] if empty else figure, drawn, grouping, counts)
    return figure


def _panel(axes: Axes, shown: pd.DataFrame, looks: dict[str, style.Look]) -> None:
    axes.set_title(style.objective(shown["panel"].iloc[0]).label)
    layers = shown["x"].astype(str).str.split("-").str[0].astype(int)
    style.curves(axes, shown.assign(x=layers, source="ours"), looks.__getitem__)


def _key(place: Axes | Figure, drawn: pd.DataFrame, grouping: str, counts: str) -> None:
    looks = [look for name, look in LOOKS[grouping].items() if name in set(drawn["series"])]
    handles = [Line2D([], [], label=look.label, **style.stroke(look)) for look in looks]
    if drawn["low"].notna().any():
        handles.append(style.bar(style.intervals(drawn).replace(", ", ",\n", 1)))
    title = f"{TITLES[grouping]},\n{counts}"
    where: Literal["center left", "outside right center"]
    where = "center left" if isinstance(place, Axes) else "outside right center"
    place.legend(handles=handles, title=title, loc=where, alignment="left")
