"""The heads of a model on a plane, near each other where they attend alike.

As figure 6 of Clark et al. (2019). The mean Jensen-Shannon divergence of two heads is the squared
distance between points of some space (Endres and Schindelin 2003, "A new metric for probability
distributions"), so classical scaling finds these points, and the plane that holds most of what lies
between them.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bottomup.figures import layout, pairs, style
from bottomup.figures.points import NoRowsError, Tables, join, points, table

NEEDED = [
    *(*pairs.RUNS, "layer", "head", "among", "quantity", "value"),
    *("to_layer", "to_head", "n"),
]
EACH = "one"  # among which heads: each one
INCHES = 2.3  # of a panel
MARK: dict[str, Any] = {"marker": "o", "linestyle": "", "markersize": 5, "markeredgecolor": "white"}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `head_distances` of runs with themselves: a panel for each
    objective, all in one unit, with the heads of its lowest seed; `series` is the layer. Colors go
    from the lowest layer of a model to its highest.

    Raises NoRowsError if no model has two heads whose distance is known.
    """
    rows = table(tables, "head_distances", NEEDED)
    rows = rows[rows["among"] == EACH].dropna(subset="value")
    rows = rows[rows["seed_a"] == rows.groupby("objective_a")["seed_a"].transform("min")]
    if rows.empty:
        raise NoRowsError(
            "no model has two heads whose distance is known; a plane needs two heads, and their "
            "distance two sentences of one length"
        )
    of = {name: rows[rows["objective_a"] == name] for name in style.ordered(rows["objective_a"])}
    planes = {name: on_plane(some) for name, some in of.items()}
    parts = [
        points(plane, panel=name, quantity="root of nats", runs=1, n=of[name]["n"].min())
        for name, (plane, _) in planes.items()
    ]
    drawn = join(parts)
    return _figure(drawn, {name: held for name, (_, held) in planes.items()}), drawn


def _figure(drawn: pd.DataFrame, held: dict[str, float]) -> Figure:
    """The panels; held: by objective, the share that its plane holds."""
    tops = drawn.groupby("panel")["series"].max().astype(int)
    titles = {
        name: f"{style.objective(name).label}\nthe plane holds {100 * share:.0f} %"
        for name, share in held.items()
    }
    figure, rows = layout.grid(titles, {"": ""}, INCHES, [INCHES + 0.4], (0.3, 0.5), shared=False)
    reach = 1.08 * float(drawn[["x", "y"]].abs().max().max())
    square = {"xlim": (-reach, reach), "ylim": (-reach, reach), "aspect": "equal"}
    for _, panels in rows:
        for name, axes in panels.items():
            for layer, heads in drawn[drawn["panel"] == name].groupby("series"):
                color = shade(layer, tops[name])
                axes.plot(heads["x"], heads["y"], color=color, markeredgewidth=0.4, **MARK)
            axes.set(**square, xticks=[], yticks=[])
            axes.spines[:].set(visible=True, color=style.GRAY, linewidth=0.5)
    top = tops.max()
    title, named = "layer", {str(layer): layer for layer in range(1, top + 1)}
    if tops.nunique() > 1:
        title, named = "layer, by the depth of its model", {"lowest": 1, "highest": top}
    handles = [
        Line2D([], [], color=shade(layer, top), label=name, **MARK) for name, layer in named.items()
    ]
    style.legend(figure, handles, columns=len(handles), title=title)
    return figure


def shade(layer: int, top: int) -> str:
    """The color of a layer, by its place between the lowest of its model and the highest."""
    return style.shade((layer - 1) / max(top - 1, 1))


def on_plane(rows: pd.DataFrame) -> tuple[pd.DataFrame, float]:
    """Of each head its layer (`series`) and place (`x`, `y`), in roots of nats, around 0; and the
    share of the squared distances of all heads that the plane has.

    rows: the divergences of each two heads of one model. The head that is furthest along an axis is
    on its positive side.
    """
    ends = [["layer", "head"], ["to_layer", "to_head"]]
    a, b = (pd.MultiIndex.from_frame(rows[of].astype(int)) for of in ends)
    heads = a.append(b).unique().sort_values()
    squares = np.zeros((len(heads), len(heads)))
    squares[heads.get_indexer(a), heads.get_indexer(b)] = rows["value"]
    squares += squares.T
    middle = np.eye(len(heads)) - 1 / len(heads)
    sizes, axes = np.linalg.eigh(-middle @ squares @ middle / 2)
    place = axes[:, :-3:-1] * np.sqrt(np.maximum(sizes[:-3:-1], 0))
    place = place * np.sign(place[np.abs(place).argmax(axis=0), range(place.shape[1])])
    total = np.maximum(sizes, 0).sum()
    held = float(np.square(place).sum() / total) if total > 0 else 1.0
    columns = {"series": heads.get_level_values(0), "x": place[:, 0], "y": place[:, 1]}
    return pd.DataFrame(columns), held
