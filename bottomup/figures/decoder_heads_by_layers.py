"""Which layers of the decoder keep their heads: active heads against pruned heads of their kind.

Source: heads, section 6.3.2, figure 10.
"""

from dataclasses import replace

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from bottomup.figures import heads, style
from bottomup.figures.points import Tables, join, points, published_in

# By kind: the panel of the published figure.
PANELS = {"decoder": "Decoder self-attention", "cross": "Dec-enc attention"}
PUBLISHED = {"layers 1+2": "bottom", "layers 3+4": "middle", "layers 5+6": "top"}
SHADES = matplotlib.colormaps["viridis"]
LOOKS = {
    "bottom": style.Look("", to_hex(SHADES(0.05)), "o"),
    "middle": style.Look("", to_hex(SHADES(0.45)), "s"),
    "top": style.Look("", to_hex(SHADES(0.8)), "^"),
}


@style.paper()
def draw(tables: Tables, objective: str) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `gates` and, if given, `heads_dying_decoder`.

    It shows the models of `objective` with gates on all attention; heads are summed over thirds of
    the layers. With several seeds a point is the mean of a penalty, with the lowest and the highest
    seed.
    """
    wanted = {"objective": objective, "attention": "all", "method": "gates"}
    kept = [heads.last_gates(tables, **wanted, kind=kind) for kind in PANELS]
    layers = pd.concat(kept)["layer"].unique()
    thirds = _thirds(sorted(layers))
    drawn = join([*(_points(rows, thirds) for rows in kept), _published(tables)])
    figure = Figure(figsize=(7.2, 3.3), layout="constrained")
    panels = figure.subplots(1, len(PANELS), sharey=True)
    for axes, name in zip(panels, PANELS, strict=True):
        shown = drawn[drawn["panel"] == name]
        heads.active(axes, shown, LOOKS.__getitem__, "pruned heads of this attention")
        axes.set_title(f"{style.objective(objective).label}, {style.KINDS[name].label}")
    panels[0].set_ylabel("active heads")
    looks = {third: replace(LOOKS[third], label=_label(of)) for third, of in thirds.items()}
    style.legend(figure, style.key(drawn, looks, style.SEEDS), columns=5)
    return figure, drawn


def _thirds(layers: list[int]) -> dict[str, list[int]]:
    names = list(LOOKS) if len(layers) > 2 else ["bottom", "top"]
    parts = np.array_split(layers, len(names))
    return {name: part.tolist() for name, part in zip(names, parts, strict=True) if len(part)}


def _label(layers: list[int]) -> str:
    joint = "–" if len(layers) > 2 else "+"
    ends = list(dict.fromkeys([layers[0], layers[-1]]))
    return f"layer{'s' * (len(ends) - 1)} {joint.join(map(str, ends))}"


def _points(gates: pd.DataFrame, thirds: dict[str, list[int]]) -> pd.DataFrame:
    third = {layer: name for name, layers in thirds.items() for layer in layers}
    gates = gates.assign(series=gates["layer"].map(third))
    # The paper's curves also start with the unpruned model. It comes before all penalties, 0 too.
    unpruned = gates.drop_duplicates(["seed", "layer", "head"]).assign(penalty=-1.0, kept=True)
    gates = pd.concat([unpruned, gates])
    rows = gates.groupby(["seed", "penalty", "series"])["kept"].agg(y="sum", of="size")
    pruned = (rows["of"] - rows["y"]).groupby(["seed", "penalty"]).transform("sum")
    summary = heads.over_penalties(rows.assign(x=pruned).reset_index(), ["series"])
    return points(summary, panel=gates["kind"].iloc[0], quantity="active heads")


def _published(tables: Tables) -> pd.DataFrame:
    curves = published_in(tables, "heads_dying_decoder")
    kinds = {panel: kind for kind, panel in PANELS.items()}
    names = {"panel": curves["panel"].map(kinds), "series": curves["series"].map(PUBLISHED)}
    return points(curves.assign(**names), "published", quantity="active heads")
