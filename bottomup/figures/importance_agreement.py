"""How far the importances of heads agree: rank correlations over the heads of each layer.

Source: heads, section 4; the paper compares relevance and confidence by eye.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bottomup.figures import heads, layout, style
from bottomup.figures.points import NoRowsError, Tables, in_order, over_seeds, points, select

NEEDED = [*heads.HEAD, "importance", "value"]
LOSS = "loss_increase"
LEAST = 3  # heads of a layer: of two, any importances agree by 1 or -1
# By row of the figure and by series: the two importances.
WITH_LOSS = {
    "relevance_alpha_beta": (heads.RELEVANCE, LOSS),
    "relevance_ratio": ("relevance_ratio", LOSS),
    "confidence": ("confidence", LOSS),
    "gradient": ("gradient", LOSS),
}
WITH_EACH_OTHER = {
    "relevance_alpha_beta, confidence": (heads.RELEVANCE, "confidence"),
    "relevance_alpha_beta, gradient": (heads.RELEVANCE, "gradient"),
    "confidence, gradient": ("confidence", "gradient"),
}
PAIRS = WITH_LOSS | WITH_EACH_OTHER
ROWS = {"with the loss": list(WITH_LOSS), "with one another": list(WITH_EACH_OTHER)}
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
    "relevance_alpha_beta, gradient": style.Look(
        "relevance (α-β) with gradient", BLUE, "D", (0, (3, 3)), PURPLE
    ),
    "confidence, gradient": style.Look(
        "confidence with gradient", ORANGE, "v", (0, (3, 3)), PURPLE
    ),
}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `head_importance`. A panel for each objective and kind.

    The upper row compares importances with what happens without a head, the lower row with each
    other. Points are Spearman rank correlations, from -1 to 1, over the heads of a layer: the mean
    over seeds and the lowest and highest seed. A layer has no point if an importance is the same
    for all its heads.
    """
    drawn = _points(select(tables, "head_importance", NEEDED))
    names = list(dict.fromkeys(drawn["panel"]))
    present = {row: some for row, some in ROWS.items() if drawn["series"].isin(some).any()}
    titles = {name: heads.title(name, names) for name in names}
    labels = {row: f"rank correlation\n{row}" for row in present}
    around = (max(0.5, 4 - 2.1 * len(names)), 0.9)
    figure, rows = layout.grid(titles, labels, 2.1, [1.9] * len(present), around)
    for row, panels in rows:
        for name, axes in panels.items():
            _panel(axes, drawn[(drawn["panel"] == name) & drawn["series"].isin(present[row])])
    looks = {series: look for series, look in LOOKS.items() if series in set(drawn["series"])}
    style.legend(figure, style.key(drawn, looks, style.SEEDS), columns=max(1, len(names)))
    return figure, drawn


def _points(measured: pd.DataFrame) -> pd.DataFrame:
    wide = measured.pivot(index=heads.HEAD, columns="importance", values="value")
    pairs = {series: list(pair) for series, pair in PAIRS.items() if set(pair) <= set(wide)}
    if not pairs:
        raise NoRowsError(
            f"the table head_importance has no two importances to compare; found "
            f"{', '.join(wide) or 'none'}"
        )
    rows = [
        [*layer, series, part.corr(method="spearman").iloc[0, 1]]
        for series, pair in pairs.items()
        for layer, part in wide[pair].dropna().groupby(heads.HEAD[:-1])
        if len(part) >= LEAST
    ]
    rows = pd.DataFrame(rows, columns=[*heads.HEAD[:-1], "series", "y"]).dropna(subset="y")
    if rows.empty:
        raise NoRowsError(
            f"the table head_importance has no layer with three heads that differ in "
            f"{', '.join(wide)}; a rank correlation needs them"
        )
    named = heads.with_panel(rows).assign(x=rows["layer"]).sort_values("x", kind="stable")
    rows = in_order(named, "panel", heads.panels(rows))
    return points(over_seeds(rows, "y", ["panel", "series", "x"]), quantity="rank correlation")


def _panel(axes: Axes, shown: pd.DataFrame) -> None:
    style.across(axes)
    style.curves(axes, shown, LOOKS.__getitem__)
    axes.set_ylim(-1.05, 1.05)
    style.layer_axis(axes, "layer")
