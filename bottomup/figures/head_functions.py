"""What the encoder's heads do: a map of their functions, below the map of their relevance.

Source: heads, section 5, figures 1 (c) and 2.
"""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from bottomup.core.errors import UserError
from bottomup.figures import heads, layout, style
from bottomup.figures.points import Tables, join, points, select

NEEDED = ["objective", "seed", "layer", "head", "function", "offset", "accuracy", "held"]
# As the paper writes them: attention goes from the first to the second word.
LABELS = {
    "nsubj_to_head": "s-v",
    "nsubj_from_head": "v-s",
    "dobj_to_head": "o-v",
    "dobj_from_head": "v-o",
    "amod_to_head": "a-n",
    "amod_from_head": "n-a",
    "advmod_to_head": "a-v",
    "advmod_from_head": "v-a",
    "two_rarest": "r",
}
PAPER = "EN-DE"
CELL = 0.31  # inches, of a map with text
IN_A_COLUMN = 3  # functions; more take two columns


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `head_functions`, `head_importance` and, if given,
    `functions_ru_de_fr`.

    Points are `relevance` and the accuracy of each function that a head has, with the function's
    name as `quantity`. Within a layer heads are sorted by relevance; `x` is their place. Only the
    lowest seed is shown.
    """
    functions = select(tables, "head_functions", NEEDED, attention="encoder")
    functions = heads.first_seed(functions)
    ours = _relevance(tables, functions)
    held = _held(functions.merge(ours, on=["objective", "seed", "layer", "head"]))
    relevance = points(ours.assign(y=ours["relevance"]), quantity="relevance")
    drawn = join([relevance, points(held), _published(tables)])
    return _figure(drawn), drawn


def _relevance(tables: Tables, functions: pd.DataFrame) -> pd.DataFrame:
    needed = [*heads.HEAD, "importance", "value"]
    wanted = {"attention": "encoder", "importance": heads.RELEVANCE}
    relevant = heads.by_relevance(select(tables, "head_importance", needed, **wanted))
    ours = relevant.merge(functions[["objective", "seed"]].drop_duplicates())
    missing = style.ordered(set(functions["objective"]) - set(ours["objective"]))
    if missing:
        raise UserError(
            f"the table head_importance has no relevance of the heads of {', '.join(missing)}, "
            f"whose functions are known; found {', '.join(relevant['objective'].unique())}; "
            f"measure both for the same seeds"
        )
    return ours.assign(panel=ours["objective"], series=heads.layers(ours["layer"]), x=ours["place"])


def _held(functions: pd.DataFrame) -> pd.DataFrame:
    """The rows of held functions, with their label as `quantity`; `two_rarest` is the rare one."""
    held = functions[functions["held"] & (functions["function"] != "rarest")]
    labels = [_label(row.function, row.offset) for row in held.itertuples()]
    return held.assign(quantity=labels, y=held["accuracy"])


def _label(function: str, offset: float) -> str:
    if function != "positional":
        return LABELS[function]
    return f"{offset:+.0f}" if offset else "0"


def _published(tables: Tables) -> pd.DataFrame:
    if "functions_ru_de_fr" not in tables:
        return points(pd.DataFrame())
    curves = tables["functions_ru_de_fr"]
    curves = curves[curves["panel"].isin([f"{PAPER} head relevance", f"{PAPER} head functions"])]
    labels = curves["function"].fillna("relevance")
    return points(curves, "published", panel=PAPER, quantity=labels)


def _kind(label: str) -> str:
    if label == LABELS["two_rarest"]:
        return "rare"
    return "positional" if label[-1].isdigit() else "syntactic"


def _figure(drawn: pd.DataFrame) -> Figure:
    relevance = heads.of_even_share(drawn[drawn["quantity"] == "relevance"])
    titles = style.labels(set(relevance["panel"]) - {PAPER})
    if PAPER in set(relevance["panel"]):
        titles[PAPER] = f"{PAPER}, {style.PUBLISHED}"
    width, height = heads.size(relevance, CELL)
    figure, rows = layout.grid(
        titles,
        {"relevance": "layer", "functions": "layer"},
        width + 0.12,
        [0.65 * height + 0.35, height + 0.35],
        (1.3, 0.4),
        shared=False,
    )
    norm = Normalize(relevance["y"].min(), relevance["y"].max())
    shades = ScalarMappable(norm, heads.SHADES)
    label = "relevance,\ntimes an even share"
    for quantity, panels in rows:
        for name, axes in panels.items():
            if quantity == "relevance":
                heads.paint(axes, relevance[relevance["panel"] == name], norm)
            else:
                _write(axes, drawn[drawn["panel"] == name])
                axes.set_xlabel("heads, by relevance")
        if quantity == "relevance":
            figure.colorbar(shades, ax=[*panels.values()], label=label, pad=0.01, aspect=12)
    looks = [style.FUNCTIONS[kind] for kind in ("positional", "syntactic", "rare")]
    handles = [Patch(color=style.light(look.color), label=look.label) for look in looks]
    style.legend(figure, handles)
    return figure


def _write(axes: Axes, shown: pd.DataFrame) -> None:
    """Write the functions of each head into its cell."""
    rows = heads.numbers(shown["series"])
    for (layer, place), head in shown.groupby([rows, "x"]):
        corner = (place - 0.5, layer - 0.5)
        axes.add_patch(Rectangle(corner, 1, 1, facecolor="#f4f4f4", edgecolor="white"))
        labels = [label for label in head["quantity"] if label != "relevance"]
        _tiles(axes, place - 0.5, layer + 0.5, sorted(labels, key=_kind))
    heads.grid(axes, rows.max(), shown["x"].max())
    if (shown["quantity"] == "relevance").all():
        style.say(axes, "no head has a function")


def _tiles(axes: Axes, left: float, top: float, labels: list[str]) -> None:
    """A tile for each label, in the color of its kind; all of them fill a cell of width 1."""
    columns = 1 if len(labels) <= IN_A_COLUMN else 2
    lines = math.ceil(len(labels) / columns)
    size = min(6.5 if columns == 1 else 4.5, 17 / max(1, lines))
    for number, label in enumerate(labels):
        line, column = divmod(number, columns)
        x, y = left + column / columns, top - (line + 1) / lines
        width = left + 1 - x if number == len(labels) - 1 else 1 / columns
        color = style.light(style.FUNCTIONS[_kind(label)].color)
        axes.add_patch(Rectangle((x, y), width, 1 / lines, facecolor=color, edgecolor="white"))
        center = (x + width / 2, y + 0.5 / lines)
        axes.text(*center, label, ha="center", va="center_baseline", fontsize=size)
