"""Relevance and confidence of every head: a row for each of the two, a column for each objective
and kind of attention.

Source: heads, section 4, figure 1 (a) and (b).
"""

import pandas as pd
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from bottomup.figures import heads, style
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
    shown = [*names, *([PAPER] if "lrp_confidence" in tables else [])]
    return _figure(drawn, names, shown), drawn


def _places(relevant: pd.DataFrame, confident: pd.DataFrame) -> pd.DataFrame:
    confident = confident.rename(columns={"value": "confidence"})[[*heads.HEAD, "confidence"]]
    return heads.by_relevance(relevant).merge(confident, on=heads.HEAD, how="left")


def _points(ours: pd.DataFrame) -> pd.DataFrame:
    panels = [heads.panel(*key) for key in zip(ours["objective"], ours["attention"], strict=True)]
    rows = ours.assign(panel=panels, series=heads.layers(ours["layer"]), x=ours["place"])
    return join([points(rows.assign(y=rows[name]), quantity=name) for name in ROWS])


def _published(tables: Tables) -> list[pd.DataFrame]:
    if "lrp_confidence" not in tables:
        return []
    curves = tables["lrp_confidence"]
    return [
        points(curves[curves["panel"] == panel], "published", panel=PAPER, quantity=name)
        for name, panel in ROWS.items()
    ]


def _figure(drawn: pd.DataFrame, names: list[str], shown: list[str]) -> Figure:
    width, height = heads.size(drawn)
    size = ((width + 0.12) * len(shown) + 1.3, 2 * (height + 0.15) + 0.55)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(2, len(shown), squeeze=False)
    for (quantity, label), row in zip(LABELS.items(), panels, strict=True):
        values = drawn[drawn["quantity"] == quantity]
        values = heads.of_even_share(values) if quantity == "relevance" else values
        norm = Normalize(values["y"].min(), values["y"].max())
        for name, axes in zip(shown, row, strict=True):
            heads.paint(axes, values[values["panel"] == name], norm)
        row[0].set_ylabel("layer")
        shades = ScalarMappable(norm, heads.SHADES)
        figure.colorbar(shades, ax=list(row), label=label, pad=0.01, aspect=12)
    for name, axes in zip(shown, panels[0], strict=True):
        published = f"{PAPER}\n{style.PUBLISHED}"
        axes.set_title(published if name == PAPER else heads.title(name, names))
    for axes in panels[1]:
        axes.set_xlabel("heads, by relevance")
    return figure
