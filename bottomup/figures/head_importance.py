"""Relevance and confidence of every head: a row for each of the two, a column for each objective
and kind of attention.

Source: heads, section 4, figure 1 (a) and (b).
"""

import pandas as pd
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from bottomup.figures import heads, layout, style
from bottomup.figures.points import Tables, join, points, select

NEEDED = [*heads.HEAD, "importance", "value"]
ROWS = {"relevance": "(a) LRP", "confidence": "(b) confidence"}
LABELS = {
    "relevance": "relevance,\ntimes an even share",
    "confidence": "confidence,\nmean largest weight",
}
PAPER = "EN-RU, encoder"


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `head_importance` and, if given, `lrp_confidence`.

    Within a layer heads are sorted by relevance; `x` is their place. Only the lowest seed is shown.
    """
    relevant = select(tables, "head_importance", NEEDED, importance=heads.RELEVANCE)
    confident = select(tables, "head_importance", NEEDED, importance="confidence")
    ours = _places(heads.first_seed(relevant), confident)
    names = heads.panels(ours)
    drawn = join([_points(ours), *_published(tables)])
    return _figure(drawn, names, "lrp_confidence" in tables), drawn


def _places(relevant: pd.DataFrame, confident: pd.DataFrame) -> pd.DataFrame:
    confident = confident.rename(columns={"value": "confidence"})[[*heads.HEAD, "confidence"]]
    return heads.by_relevance(relevant).merge(confident, on=heads.HEAD, how="left")


def _points(ours: pd.DataFrame) -> pd.DataFrame:
    rows = heads.with_panel(ours).assign(series=heads.layers(ours["layer"]), x=ours["place"])
    return join([points(rows.assign(y=rows[name]), quantity=name) for name in ROWS])


def _published(tables: Tables) -> list[pd.DataFrame]:
    if "lrp_confidence" not in tables:
        return []
    curves = tables["lrp_confidence"]
    return [
        points(curves[curves["panel"] == panel], "published", panel=PAPER, quantity=name)
        for name, panel in ROWS.items()
    ]


def _figure(drawn: pd.DataFrame, names: list[str], published: bool) -> Figure:
    width, height = heads.size(drawn)
    titles = {name: heads.title(name, names) for name in names}
    if published:
        titles[PAPER] = f"{PAPER}\n{style.PUBLISHED}"
    layers = dict.fromkeys(LABELS, "layer")
    figure, rows = layout.grid(
        titles, layers, width + 0.12, [height + 0.15] * len(LABELS), (1.3, 0.55), shared=False
    )
    for quantity, panels in rows:
        values = drawn[drawn["quantity"] == quantity]
        values = heads.of_even_share(values) if quantity == "relevance" else values
        norm = Normalize(values["y"].min(), values["y"].max())
        for name, axes in panels.items():
            heads.paint(axes, values[values["panel"] == name], norm)
            if quantity == [*LABELS][-1]:
                axes.set_xlabel("heads, by relevance")
        shades = ScalarMappable(norm, heads.SHADES)
        label = LABELS[quantity]
        figure.colorbar(shades, ax=[*panels.values()], label=label, pad=0.01, aspect=12)
    return figure
