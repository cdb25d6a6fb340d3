"""How far the importances of heads agree: rank correlations over the heads of each layer.

Source: heads, section 4, which compares relevance with confidence by eye.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bottomup.errors import UserError
from bottomup.figures import heads, style
from bottomup.figures.points import Tables, over_seeds, points

NEEDED = [*heads.HEAD, "importance", "value"]
LOSS = "loss_increase"
# By series: the two importances.
PAIRS = {
    "relevance_alpha_beta": (heads.RELEVANCE, LOSS),
    "relevance_ratio": ("relevance_ratio", LOSS),
    "confidence": ("confidence", LOSS),
    "gradient": ("gradient", LOSS),
    "relevance_alpha_beta, confidence": (heads.RELEVANCE, "confidence"),
}
BLUE, ORANGE, PURPLE = (
    style.METHODS[name].color for name in ("relevance", "confidence", "gradient")
)
LOOKS = {
    "relevance_alpha_beta": style.Look("relevance (α-β) with loss", BLUE, "^"),
    "relevance_ratio": style.Look("relevance (ratio) with loss", BLUE, "P", (0, (1, 1.2))),
    "confidence": style.Look("confidence with loss", ORANGE, "v"),
    "gradient": style.Look("gradient with loss", PURPLE, "D"),
    "relevance_alpha_beta, confidence": style.Look(
        "relevance (α-β) with confidence", BLUE, "^", (0, (3, 3)), ORANGE
    ),
}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """From `head_importance`: the figure and its points, a panel for each objective and kind.

    Points are Spearman rank correlations, from -1 to 1, over the heads of a layer: the mean over
    seeds and the lowest and highest seed. Layers where an importance is the same for all heads
    have none.
    """
    drawn = _points(heads.select(tables, "head_importance", NEEDED))
    names = list(dict.fromkeys(drawn["panel"]))
    figure = Figure(figsize=(2.1 * len(names) + 0.5, 2.9), layout="constrained")
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, names, strict=True):
        _panel(axes, drawn[drawn["panel"] == name])
        axes.set_title(heads.title(name, names))
    panels[0].set_ylabel("rank correlation over heads")
    panels[0].set_ylim(-1.05, 1.05)
    looks = [look for series, look in LOOKS.items() if series in set(drawn["series"])]
    handles = style.key(drawn.assign(low=float("nan")), looks)
    if drawn["low"].notna().any():
        bar = {"linestyle": "", "marker": "|", "markersize": 10, "color": style.GRAY}
        handles.append(Line2D([], [], label=style.SEEDS, **bar))
    style.legend(figure, handles, columns=max(1, len(names)))
    return figure, drawn


def _points(measured: pd.DataFrame) -> pd.DataFrame:
    wide = measured.pivot(index=heads.HEAD, columns="importance", values="value")
    pairs = {series: list(pair) for series, pair in PAIRS.items() if set(pair) <= set(wide)}
    if not pairs:
        raise UserError(
            f"no two importances to compare; found {', '.join(wide) or 'none'}, in the table "
            f"head_importance; measure confidence, {heads.RELEVANCE} and {LOSS}"
        )
    rows = [
        [*layer, series, part.corr(method="spearman").iloc[0, 1]]
        for series, pair in pairs.items()
        for layer, part in wide[pair].dropna().groupby(heads.HEAD[:-1])
    ]
    rows = pd.DataFrame(rows, columns=[*heads.HEAD[:-1], "series", "y"]).dropna(subset="y")
    if rows.empty:
        raise UserError(
            f"no layer with two heads that differ in {', '.join(wide)}, in the table "
            f"head_importance; a rank correlation needs them; leave the figure out"
        )
    panels = [heads.panel(row.objective, row.attention) for row in rows.itertuples()]
    place = {name: place for place, name in enumerate(heads.panels(rows))}
    rows = rows.assign(panel=panels, x=rows["layer"]).sort_values("x", kind="stable")
    rows = rows.sort_values("panel", key=lambda names: names.map(place), kind="stable")
    return points(over_seeds(rows, "y", ["panel", "series", "x"]), quantity="rank correlation")


def _panel(axes: Axes, shown: pd.DataFrame) -> None:
    axes.axhline(0, color="black", linewidth=0.7)
    # Side by side, with bars: so many bands would hide one another.
    shift = shown["series"].map({series: 0.09 * (place - 2) for place, series in enumerate(PAIRS)})
    shown = shown.assign(x=shown["x"] + shift)
    colors = [LOOKS[series].color for series in shown["series"]]
    axes.vlines(shown["x"], shown["low"], shown["high"], color=colors, linewidth=0.9)
    style.curves(axes, shown.assign(low=float("nan"), high=float("nan")), LOOKS.__getitem__)
    style.layer_axis(axes)
    axes.set_xlabel("layer")
