"""How figures look: one color and marker for each objective, and how curves and axes are drawn."""

import math
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from textwrap import wrap
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_hex, to_rgb
from matplotlib.container import Container
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.text import Annotation
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter
from matplotlib.transforms import ScaledTranslation

from bottomup.core.names import TWIN, half, objective_and_half
from bottomup.core.plurals import plural
from bottomup.figures.points import NoRowsError

GRAY = "#7f7f7f"
SIDES = {"source": "#4d4d4d", "target": "#b3b3b3"}
DROPPED = "#E69F00"
MEASURED = "#dcecf7"
PUBLISHED = "Voita et al. 2019"
SEEDS = "lowest to highest seed"
# By whether the intervals of some points are of several runs, and those of some of a single one.
INTERVALS = {
    (True, False): "95 % interval, runs and documents",
    (False, True): "95 % interval, documents (one run)",
    (True, True): "95 % interval, runs and documents; of one run, documents",
}
NEXT = 1.5  # how far apart points at two consecutive layers are at most
BESIDE = 5  # typographic points between two series that stand side by side
TOGETHER = 0.6  # of the room between two places that series side by side take, at most
BAR: dict[str, Any] = {"linewidth": 1.1, "alpha": 0.6}  # of an interval
LABEL = 8  # typographic points that a label of an axis takes
MOST_BEHIND = 3  # published curves that a legend shows
IN_LEGEND = 0.3  # of the height of a figure, what its legend takes before the figure grows
HANDLE = 0.6  # inches of a legend beside its words
NEAR = 0.15  # of the height of a panel: how near to its top, or to another, numbers move aside
NO_VALUES = "not measured, or\non too few cases"
LAYERS = "layer (0 = embeddings)"
INFORMATION = "information with input,\nchange since layer 0, nats"
DISTANCE = "PWCCA distance (1 − similarity)"
VARIANTS = {
    "definition": "PWCCA as defined",
    "svcca-2019": "PWCCA as in the svcca code of 2019",
}

CCG = {"derived": "derived from dependencies", "depccg": "by depccg"}

RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#ebebeb",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "legend.columnspacing": 1.4,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "text.parse_math": False,  # a word of a text may have dollar signs
}


@dataclass(frozen=True)
class Look:
    """How to draw one series; a `second_color` fills the gaps of a dashed line."""

    label: str
    color: str
    marker: str = "o"
    linestyle: str | tuple = "-"
    second_color: str | None = None


# Colors of Okabe and Ito (2008), distinct with any color vision; markers for gray print.
OBJECTIVES = {
    "mt": Look("MT", "#0072B2", "o"),
    "lm": Look("LM", "#D55E00", "s"),
    "mlm": Look("MLM", "#009E73", "^"),
    "mt_noise": Look("MT, token dropout", "#0072B2", "X", (0, (5, 1.2, 1.2, 1.2))),
    "lm_noise": Look("LM, token dropout", "#D55E00", "P", (0, (5, 1.2, 1.2, 1.2))),
    "mlm_causal": Look("MLM, causal mask", "#009E73", "<", (0, (5, 1.2, 1.2, 1.2))),
    "lm_bidirectional": Look("LM, both sides", "#D55E00", "d", (0, (5, 1.2, 1.2, 1.2))),
    "untrained": Look("untrained", GRAY, "D", (0, (2, 1.5))),
    "untrained_causal": Look("untrained, causal mask", "#3d3d3d", "<", (0, (2, 1.5))),
    "untrained_backward": Look("untrained, from the end", "#3d3d3d", ">", (0, (2, 1.5))),
}
UNTRAINED = ["untrained", "untrained_causal", "untrained_backward"]
PAPERS = ["mt", "lm", "mlm"]  # the objectives that the papers compare
FIRST = 3  # models that stand for all where none are the papers'
# For objectives with other names.
SPARE_COLORS = ["#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255", "#999933", "#332288"]
SPARE_MARKERS = ["v", ">", "*", "p", "d", "X", "<"]
# Where colors come again; short enough that a legend shows a gap beside the marker.
SPARE_DASHES: list[str | tuple] = ["-", (0, (4, 1, 1, 1)), (0, (4, 1, 1, 1, 1, 1))]
_spared: dict[tuple[str, str], str] = {}  # who has which of them, in one figure
_places: dict[str, int] = {}  # of models in their study; these decide first
_untrained: set[str] = set()  # models of their study with names of their own
TWIN_DASHES = (0, (2, 1.5))
# Attention in MT; colors and markers differ from those of the objectives other than MT.
KINDS = {
    "encoder": Look("encoder self-attention", "#0072B2", "o"),
    "decoder": Look("decoder self-attention", "#CC79A7", "s"),
    "cross": Look("cross-attention", "#E69F00", "^"),
}
# What a head does, in colors close to the paper's but as distinct in gray print as possible.
FUNCTIONS = {
    "positional": Look("positional", "#CC79A7"),
    "syntactic": Look("syntactic", "#006D4F"),
    "rare": Look("rare tokens", "#E69F00"),
    "unknown": Look("unknown", "#dedede"),
}
# Methods to choose the heads to prune; three of them choose by an importance, with its look.
METHODS = {
    "gates": Look("gates (Hard-Concrete)", "#000000", "o"),
    "scratch": Look("heads of the gates, from scratch", "#000000", "s", (0, (3, 1.5))),
    "gradient": Look("lowest gradient pruned", "#CC79A7", "D"),
    "relevance": Look("lowest relevance pruned", "#56B4E9", "^"),
    "confidence": Look("lowest confidence pruned", "#E69F00", "v"),
    "random": Look("random heads pruned", "#8c6d31", "X", (0, (1, 1.2))),
}


def objective(name: str) -> Look:
    """The look of an objective or a checkpoint, the same in every figure; others than the papers'
    get a spare look, and an untrained twin that of its model, dashed.

    The place in the study decides which spare look it is. Where the place is not known, the name
    decides or, if another model of the figure has that look, it is the next free one. So no two
    share a color or a marker while there are others; beyond these, dashes tell them apart.
    """
    if name in OBJECTIVES:
        return OBJECTIVES[name]
    label = name.replace("_", " ")
    if name.endswith(TWIN):
        return replace(objective(name.removesuffix(TWIN)), label=label, linestyle=TWIN_DASHES)
    n = len(SPARE_COLORS)
    if name in _places:
        turn, place = divmod(_places[name], n)
        return Look(label, *_spare(turn, place), SPARE_DASHES[turn % len(SPARE_DASHES)])
    given = {_spare(*divmod(place, n)) for place in _places.values()}
    first = zlib.crc32(name.encode()) % n
    for turn, step in product(range(n), range(n)):
        spare = _spare(turn, (first + step) % n)
        if spare not in given and _spared.setdefault(spare, name) == name:
            break
    return Look(label, *spare)


def _spare(turn: int, place: int) -> tuple[str, str]:
    """A spare color, and a marker that goes with it in this turn."""
    return SPARE_COLORS[place], SPARE_MARKERS[(place + turn) % len(SPARE_MARKERS)]


@contextmanager
def placed(places: dict[str, int], untrained: Iterable[str] = ()) -> Iterator[None]:
    """Draw with the looks of models by their places in a study, from 0. untrained: the models that
    are not trained."""
    _places.update(places)
    _untrained.update(untrained)
    try:
        yield
    finally:
        _places.clear()
        _untrained.clear()


def pair(first: str, second: str) -> Look:
    """The look of two runs compared: striped in both colors, dashed for two seeds of one objective,
    dotted for its two halves of the text."""
    if halves_of_one(first, second):
        whole = objective(objective_and_half(first)[0])
        label = f"{whole.label}, two halves of the text"
        return replace(whole, label=label, linestyle=(0, (1, 1.2)))
    a, b = objective(first), objective(second)
    if first == second:
        return replace(a, label=f"{a.label}, two seeds", linestyle=(0, (2, 1.5)))
    names, gaps = (first, second), None if a.color == b.color else b.color
    # With a twin, whose color is its model's, more of the other's.
    twin = any(name.endswith(TWIN) and name not in OBJECTIVES for name in names)
    return Look(f"{a.label}–{b.label}", a.color, b.marker, (0, (1, 4) if twin else (3, 3)), gaps)


def halves_of_one(first: str, second: str) -> bool:
    """Whether two runs of one objective were trained on one half of the text each."""
    name, _ = objective_and_half(first)
    return {first, second} == {half(name, 1), half(name, 2)}


def ordered(names: Iterable[str]) -> list[str]:
    """Objectives in the papers' order, then others by name, untrained models last."""
    rank = {name: place for place, name in enumerate(OBJECTIVES)}

    def place(name: str) -> tuple:
        return _is_untrained(name), rank.get(name, len(rank)), by_number(name)

    return sorted(set(names), key=place)


def labels(names: Iterable[str]) -> dict[str, str]:
    """What models are called in figures, by their names, in order."""
    return {name: objective(name).label for name in ordered(names)}


def by_number(name: str) -> tuple:
    """The key that sorts names as one reads them: `a_step512` before `a_step1000`."""
    parts = re.split(r"(\d+)", name)
    return [int(part) if n % 2 else part for n, part in enumerate(parts)], name


def compared(names: Iterable[str]) -> list[str]:
    """Those of these models that the papers compare; without any, the first trained ones."""
    known = ordered(names)
    trained = [name for name in known if not (_is_untrained(name) or name.endswith(TWIN))]
    return [name for name in trained if name in PAPERS] or trained[:FIRST]


def _is_untrained(name: str) -> bool:
    return name in UNTRAINED or name in _untrained


@contextmanager
def paper() -> Iterator[None]:
    """Draw and save with these settings only, whatever the user's matplotlib settings."""
    _spared.clear()
    with matplotlib.rc_context(), warnings.catch_warnings():
        # `find_fonts` tells of all in one line, and what it finds is missing before.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        yield


def light(color: str, share: float = 0.5) -> str:
    """`color` mixed with white, for curves behind; `share` of it is left, from 0 to 1."""
    red, green, blue = (1 - share * (1 - part) for part in to_rgb(color))
    return to_hex((red, green, blue))


def shade(place: float) -> str:
    """The color of one of several in an order, such as layers, by its place from 0 to 1; dark to
    light, without the light end, which white hides."""
    return to_hex(matplotlib.colormaps["viridis"](0.92 * place))


def curves(
    axes: Axes,
    points: pd.DataFrame,
    look: Callable[[Any], Look],
    reach: float = NEXT,
    beside: float = BESIDE,
) -> None:
    """Draw each series of `points`, published ones behind; a bar from `low` to `high` if given.

    Our series that share places stand side by side, at most `beside` typographic points from the
    next, so that none hides another. Points that are further apart than `reach` are not joined:
    nothing is known of what lies between them. Axes without a point say so.
    """
    if points.empty:
        say(axes, NO_VALUES)
        if len(axes.get_shared_x_axes().get_siblings(axes)) == 1:
            axes.set_xticks([])  # of no place
    offsets = _side_by_side(axes, points, beside)
    for source in ("published", "ours"):
        shown = points[points["source"] == source]
        for series, group in shown.groupby("series", sort=False):
            behind = source == "published"
            for part in pieces(group, reach):
                _curve(axes, part, look(series), behind, 0.0 if behind else offsets[series])


def _side_by_side(axes: Axes, points: pd.DataFrame, beside: float) -> dict[str, float]:
    """How far each of our series is moved to the right, in typographic points; makes room for it,
    also in panels that share the x axis, or the last of these would decide how much there is.

    Not in units of x, whose scale may be logarithmic.
    """
    ours = points.loc[points["source"] == "ours", ["series", "x"]].drop_duplicates()
    sharing = ours.loc[ours.duplicated("x", keep=False), "series"].unique()
    rank = {name: place for place, name in enumerate(OBJECTIVES)}
    names = sorted(sharing, key=lambda name: rank.get(name, len(rank)))  # as in the legend
    width = axes.bbox.width * 72 / axes.figure.dpi
    room = TOGETHER * width / max(1, points["x"].nunique())
    between = max(1, len(names) - 1)
    step = min(beside, room / between) if names else 0
    half = step * between / 2
    margin = matplotlib.rcParams["axes.xmargin"] + half / (width - 2 * half)
    for panel in axes.get_shared_x_axes().get_siblings(axes):
        panel.margins(x=max(margin, panel.get_xmargin()))
    offsets = {name: step * place - half for place, name in enumerate(names)}
    return dict.fromkeys(ours["series"], 0.0) | offsets


def pieces(points: pd.DataFrame, reach: float) -> list[pd.DataFrame]:
    """Points in their order along x, whatever their order is, in parts within which none is further
    than `reach` from the next."""
    points = points.sort_values("x", kind="stable")
    gaps = points["x"].astype(float).diff() > reach
    return [part for _, part in points.groupby(gaps.cumsum())]


def _curve(axes: Axes, points: pd.DataFrame, look: Look, behind: bool, offset: float) -> None:
    moved = axes.transData + ScaledTranslation(offset / 72, 0, axes.figure.dpi_scale_trans)
    bars = points.dropna(subset=["low", "high"])
    drawn: list[Artist] = []
    drawn += axes.plot(points["x"].to_numpy(), points["y"].to_numpy(), **stroke(look, behind))
    if len(bars):
        drawn.append(axes.vlines(bars["x"], bars["low"], bars["high"], look.color, **BAR))
    for artist in drawn:
        artist.set_transform(moved)  # once its axes know where its points are


def stroke(look: Look, behind: bool = False) -> dict[str, Any]:
    """matplotlib's settings for a line with `look`; `behind`: light, thin, with open markers."""
    front = {
        "color": look.color,
        "gapcolor": look.second_color,
        "marker": look.marker,
        "linestyle": look.linestyle,
    }
    if not behind:
        return front
    return front | {
        "color": light(look.color),
        "gapcolor": look.second_color and light(look.second_color),
        "linewidth": 0.9,
        "markersize": 3.5,
        "markerfacecolor": "white",
        "markeredgewidth": 0.8,
        "zorder": 1.5,
    }


def key(
    points: pd.DataFrame, looks: Mapping[Any, Look] | None = None, bars: str | None = None
) -> list:
    """Legend entries: the series by their `looks`, or those of objectives, then the published
    curves, in the looks of the first of them, and the bars if drawn; `bars` says what they are, if
    no intervals."""
    if looks is None:
        looks = {name: objective(name) for name in ordered(points["series"])}
    handles: list = [Line2D([], [], label=look.label, **stroke(look)) for look in looks.values()]
    published = set(points.loc[points["source"] == "published", "series"])
    lines = [
        Line2D([], [], **stroke(look, behind=True))
        for name, look in looks.items()
        if name in published
    ]
    if lines:
        handles.append(Container(lines[:MOST_BEHIND], label=PUBLISHED))
    if points["low"].notna().any():
        handles.append(bar(bars or intervals(points)))
    return handles


def bar(label: str, color: str = GRAY) -> Line2D:
    """The legend entry of vertical bars."""
    return Line2D([], [], linestyle="", marker="|", markersize=10, color=color, label=label)


def say(axes: Axes, why: str) -> None:
    """Write into axes without a point why there is none."""
    at, size = axes.transAxes, 7
    why = broken(why, characters(axes.bbox.width / axes.figure.dpi, size))
    axes.text(0.5, 0.5, why, transform=at, ha="center", va="center", fontsize=size, color=GRAY)


def intervals(points: pd.DataFrame) -> str:
    """What the intervals of points are about."""
    runs = points.loc[points["low"].notna(), "runs"]
    return INTERVALS[bool((runs > 1).any()), bool((runs == 1).any())]


def legend(figure: Figure, handles: list, columns: int = 6, title: str | None = None) -> None:
    """The legend, above the panels, where it covers nothing; as wide as the figure at most. With
    many entries the figure grows, and not the legend at the cost of the panels.

    columns: the most that it has.

    Raises NoRowsError for a figure without an entry: none of its values is known.
    """
    if not handles:
        raise NoRowsError("no value is known, as of too little text; a figure needs at least one")
    widest = characters(figure.get_figwidth() - HANDLE, RC["font.size"])
    for handle in handles:
        label = broken(handle.get_label(), widest)
        handle.set_label(f" {label}" if label.startswith("_") else label)  # or it would be hidden
    for most in range(columns, 0, -1):
        rows = math.ceil(len(handles) / most)
        ncols = math.ceil(len(handles) / rows)
        drawn = figure.legend(
            handles=handles,
            loc="outside upper center",
            ncols=ncols,
            title=title,
            handler_map={tuple: HandlerTuple(ndivide=None, pad=0)},
        )
        taken = drawn.get_window_extent()
        if taken.width <= figure.bbox.width or most == 1:
            height = figure.get_figheight()
            figure.set_figheight(max(height, height * (1 - IN_LEGEND) + taken.height / figure.dpi))
            return
        drawn.remove()


def whole_numbers(axis: Axis, most: int | None = None) -> None:
    """Ticks at whole numbers alone, also where only one is in sight; at most so many."""
    axis.set_major_locator(MaxNLocator(most or "auto", integer=True, min_n_ticks=1))


def layer_axis(axes: Axes, label: str = LAYERS) -> None:
    """Layers on the x axis: whole numbers."""
    axes.set_xlabel(label)
    if len(axes.get_xticks()):  # as those without a point have none
        whole_numbers(axes.xaxis)


def step_axis(axes: Axes, steps: pd.Series) -> None:
    """Steps, such as `1-2`, at the layer they start from; not every step if there are many."""
    names = sorted({(int(step.split("-")[0]), step) for step in steps})
    if not names:
        return
    axes.set_xticks(*zip(*names[:: 1 + len(names) // 9], strict=True))
    axes.margins(x=max(0.08, axes.get_xmargin()))
    if len(names) > 1:
        axes.set_xlabel("step, from layer – to layer")


def cells(axes: Axes) -> None:
    """Axes of a map: a frame, and neither ticks nor a grid."""
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set(visible=True, color=GRAY, linewidth=0.5)


def log_ticks(axes: Axes, steps: tuple[float, ...]) -> None:
    """Ticks of a logarithmic y axis, once its limits are known: at `steps` times each power of ten,
    at fewer where the labels would cover one another, and evenly where no two of these are
    within the limits."""
    bottom, top = axes.get_ylim()
    decade = axes.bbox.height * 72 / axes.figure.dpi / np.log10(top / bottom)
    axes.yaxis.set_major_locator(LogLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())
    for some in ((1, 2, 5), steps):
        if np.diff(np.log10([*some, 10])).min() * decade > LABEL:
            # By itself, Matplotlib shows none of several where it finds no room for all.
            axes.yaxis.set_major_locator(LogLocator(subs=some, numticks=99))
    ticks = axes.get_yticks()
    if ((bottom <= ticks) & (ticks <= top)).sum() < 2:
        axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))


def count(values: pd.Series, noun: str = "") -> str:
    """`400 tokens`: a number, or the lowest and the highest of several, with a noun; "too
    few" for none, as where no value rests on enough."""
    values = values.dropna()
    number, high = "too few", 0
    if len(values):
        low, high = int(values.min()), int(values.max())
        number = f"{low:,}" if low == high else f"{low:,}–{high:,}"
    return f"{number} {plural(noun, high)}" if noun else number


def counts(rows: pd.DataFrame, **nouns: str) -> str:
    """`400 tokens, 100,000 occurrences`: the `count` of each of these columns."""
    return ", ".join(count(rows[name], noun) for name, noun in nouns.items())


def ccg(sources: pd.Series) -> str:
    """Where the CCG categories come from."""
    return ", ".join(CCG[source] for source in sources.dropna().unique())


def across(axes: Axes, value: float = 0) -> None:
    """Draw a thin line across `axes`, at the value with which all are compared."""
    axes.axhline(value, color="black", linewidth=0.7)


def level(axes: Axes, value: float, name: str) -> None:
    """Draw a line at `value` across `axes`, its number to the right, where it covers nothing; far
    from the curves, the number alone, at the edge."""
    low, high = sorted(axes.get_ylim())
    span, inverted = high - low, bool(axes.yaxis_inverted())
    text = f"{name}\n= {value:.3g}"
    place: dict[str, Any] = {"textcoords": "offset points", "xytext": (3, 0), "ha": "left"}
    if low - 1.5 * span < value < high + 1.5 * span:
        across(axes, value)
        low, high = min(low, value - 0.05 * span), max(high, value + 0.05 * span)
        axes.set_ylim(*((high, low) if inverted else (low, high)))
        below = (value - low if inverted else high - value) / (high - low)
        # At the top it would reach the end of a title.
        side = "center" if below > NEAR else "top"
        place |= {"xy": (1, value), "xycoords": ("axes fraction", "data"), "va": side}
    else:
        # A line that far away would flatten the curves: the number stands for it.
        above = (value > high) != inverted
        text += "\n(above)" if above else "\n(below)"
        edge, side = (1, "top") if above else (0, "bottom")
        place |= {"xy": (1, edge), "xycoords": "axes fraction", "va": side}
    written = axes.annotate(text, **place, fontsize=7, gid="level")
    levels = [each for each in axes.texts if each.get_gid() == "level" and each is not written]
    for other in levels:
        # Of two numbers that would cover each other, the upper one stands above its line.
        if isinstance(other, Annotation) and abs(other.xy[1] - value) < NEAR * (high - low):
            lower, upper = sorted((written, other), key=lambda each: each.xy[1], reverse=inverted)
            lower.set_verticalalignment("top")
            upper.set_verticalalignment("bottom")


def characters(inches: float, size: float) -> int:
    """How many of them, of a font of this size, have room."""
    return max(20, int(inches * 72 / (0.6 * size)))


def broken(text: str, width: int) -> str:
    """Lines of at most so many characters."""
    return "\n".join(part for line in text.splitlines() for part in wrap(line, width))
