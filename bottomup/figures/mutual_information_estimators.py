"""Mutual information between a layer and the input token by each estimator: what depends on the
number of clusters, and what a linear classifier says instead."""

from collections.abc import Callable
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from bottomup.core.plurals import plural
from bottomup.figures import information, layout, style
from bottomup.figures.information import CHANGE, ENTROPY, MEASURED
from bottomup.figures.points import Tables, join, points, table

SELECT = {"reading": "plain", "positions": "all", "label": "input"}
CLASSIFIER = "linear classifier (a lower bound)"
BY_SCIKIT_LEARN = " by scikit-learn"
MARKERS = "vos^P"  # from the fewest clusters to the most
BY = ["panel", "series", "x"]


@style.paper()
def draw(tables: Tables, n_tokens: int) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `mutual_information`.

    A column for each objective; mutual information above, its change since layer 0 below.
    `n_tokens` is the number of tokens that all estimators have.
    """
    measured = table(tables, "mutual_information", information.NEEDED)
    part = information.select(measured, SELECT | {"n_tokens": n_tokens})
    part = part.rename(columns={"series": "panel"})
    estimators = _estimators(part)
    series = part["n_clusters"].map(estimators).fillna(CLASSIFIER)
    other = part["estimator"] == "scikit-learn"
    part = part.assign(series=series.mask(other, series + BY_SCIKIT_LEARN))
    drawn = _points(part)
    looks = partial(_look, [*estimators.values(), CLASSIFIER])
    figure = _figure(drawn, looks)
    curves = drawn[drawn["quantity"] != ENTROPY]
    keys = {name: looks(name, color=style.GRAY) for name in drawn["series"].dropna().unique()}
    counts = style.counts(part, n_labels="token", n_occurrences="occurrence")
    style.legend(figure, style.key(curves, keys), title=counts)
    return figure, drawn


def _figure(drawn: pd.DataFrame, looks: Callable[..., style.Look]) -> Figure:
    labels = {of: f"{of}\nwith the input token, nats" for of in (MEASURED, CHANGE)}
    titles = style.labels(drawn["panel"])
    figure, rows = layout.grid(titles, labels, 2.35, [2.5, 2.5], (0.4, 0))
    entropies = drawn[drawn["quantity"] == ENTROPY].set_index("panel")["y"]
    for quantity, panels in rows:
        for model, axes in panels.items():
            shown = drawn[(drawn["panel"] == model) & (drawn["quantity"] == quantity)]
            style.curves(axes, shown, partial(looks, color=style.objective(model).color))
            style.layer_axis(axes, "layer")
    # Once the range of all panels is known.
    for quantity, panels in rows:
        for model, axes in panels.items():
            if quantity == CHANGE:
                style.across(axes)
            else:
                style.level(axes, entropies[model], "H")
    return figure


def _estimators(part: pd.DataFrame) -> dict[float, str]:
    """Names by the number of clusters, fewest first."""
    counts = sorted(part["n_clusters"].dropna().unique())
    return {count: f"{count:,.0f} {plural('cluster', count)}" for count in counts}


def _points(part: pd.DataFrame) -> pd.DataFrame:
    part = part.sort_values("n_clusters", kind="stable")
    means = part.groupby(BY, sort=False)["value"].mean().rename("y").reset_index()
    # Both kinds of estimator measure the same tokens, at slightly different places.
    entropy = part.groupby("panel")["entropy_nats"].mean().rename("y").reset_index()
    return join(
        [
            points(means, quantity=MEASURED),
            information.change(part, ["panel", "series"]),
            points(entropy, quantity=ENTROPY),
        ]
    )


def _look(estimators: list[str], name: str, color: str) -> style.Look:
    """The more clusters, the darker; scikit-learn's have dots, and the classifier is dashed."""
    if name == CLASSIFIER:
        return style.Look(name, color, "D", (0, (2, 1.5)))
    place = estimators.index(name.removesuffix(BY_SCIKIT_LEARN))
    clusters = len(estimators) - 1
    share = 0.45 + 0.55 * (place + 1) / clusters
    line = (0, (1, 1.2)) if name.endswith(BY_SCIKIT_LEARN) else "-"
    return style.Look(name, style.light(color, share), MARKERS[place % len(MARKERS)], line)
