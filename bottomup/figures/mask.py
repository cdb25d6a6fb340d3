"""What the attention mask alone does to representations, what training adds, and what the target:
the next token or a masked one, each predicted under a causal mask and by a model that sees both
sides; by layer, beside MT and the models before training.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bottomup.errors import UserError
from bottomup.figures import style
from bottomup.figures.points import Tables, join, over_intervals, points, table
from bottomup.measures import jackknife
from bottomup.measures.initial import INITIAL

# Marker and line of a mask, and the marker of two.
CAUSAL, BOTH, ACROSS = ("<", (0, (3, 1.2))), ("o", "-"), "X"
MASKS = "dashed, ◀: causal mask, sees earlier tokens alone; solid, ●: sees both sides"
INFORMATION = "information with input, nats"
TOKEN = "share of neighbors, same token"
UNTRAINED, TRAINED, GAIN = "untrained", "trained", "trained less untrained"
TITLES = {
    UNTRAINED: "untrained:\nwhat the mask does alone",
    TRAINED: "trained:\nmask and target together",
    GAIN: "trained less untrained with the same mask:\nwhat training adds",
}
PAIRS = {
    "untrained, mask differs": {"untrained-untrained_causal": "causal – both sides"},
    "trained, target or mask differs": {
        "lm-lm_bidirectional": "LM: causal – both sides",
        "mlm-mlm_causal": "MLM: causal – both sides",
        "lm-mlm_causal": "causal: LM – MLM",
        "mlm-lm_bidirectional": "both sides: MLM – LM",
    },
    "trained, as in the paper": {
        "lm-mlm": "LM – MLM, mask differs, too",
        "lm-mt": "LM – MT, mask differs, too",
        "mt-mlm": "MT – MLM",
    },
}


@style.paper()
def draw(tables: Tables, n_clusters: int, variant: str) -> tuple[Figure, pd.DataFrame]:
    """From `mutual_information` and `neighbours`, with the values without each block, and
    `pwcca_between_runs`: the figure and its points.

    `n_clusters` is the number of clusters that is shown, `variant` the kind of PWCCA. The trained
    model and the untrained one are compared within a seed.
    """
    select = {"label": "input", "reading": "plain", "positions": "all", "estimator": "clusters"}
    named = {"mi_nats": "value", "clustering_error_nats": "noise"}
    information = _runs(tables, "mutual_information", select | {"n_clusters": n_clusters}, named)
    token = _runs(tables, "neighbours", {"property": "token", "metric": "cosine"}, {})
    drawn = join(
        [
            points(_levels(information), quantity=INFORMATION),
            points(_levels(token.assign(noise=0.0)), quantity=TOKEN),
            points(_distances(tables, variant), quantity=style.DISTANCE),
        ]
    )
    return _figure(drawn), drawn


def _runs(tables: Tables, name: str, select: dict, named: dict) -> pd.DataFrame:
    """Rows with the values in `select`, columns called as in `named`: series, x, value."""
    columns = ["objective", "seed", "layer", "ci_low", "ci_high", jackknife.WITHOUT]
    rows = table(tables, name, [*columns, *select, *named])
    for column, wanted in select.items():
        rows = rows[rows[column] == wanted]
    return _some(rows, name).rename(columns={"objective": "series", "layer": "x", **named})


def _some(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    if rows.empty:
        raise UserError(f"nothing to show in the table {name}; measure it or leave the figure out")
    return rows


def _levels(rows: pd.DataFrame) -> pd.DataFrame:
    """Each model, and each trained one less its initial one: mean and span of intervals."""
    trained = rows["series"].isin(INITIAL)
    panels = rows.assign(panel=np.where(trained, TRAINED, UNTRAINED))
    return _over_runs(pd.concat([panels, _gain(rows).assign(panel=GAIN)]))


def _gain(rows: pd.DataFrame) -> pd.DataFrame:
    """In pairs, block by block: what two models owe to the text that they share cancels."""
    initial = rows.rename(columns={"series": "initial"})
    pairs = rows.assign(initial=rows["series"].map(INITIAL)).merge(
        initial, on=["initial", "seed", "x"], suffixes=("", "_initial")
    )
    values = pairs["value"] - pairs["value_initial"]
    of_trained, of_initial = (pairs[jackknife.WITHOUT + name] for name in ("", "_initial"))
    without = np.stack(of_trained) - np.stack(of_initial)
    noise = np.hypot(pairs["noise"], pairs["noise_initial"])
    bounds = [*map(jackknife.interval, values, without, noise)]
    pairs[["ci_low", "ci_high"]] = np.reshape(bounds, (-1, 2))
    return pairs.assign(value=values)


def _distances(tables: Tables, variant: str) -> pd.DataFrame:
    pairs = {
        frozenset(pair.split("-")): {"panel": panel, "series": pair}
        for panel, labels in PAIRS.items()
        for pair in labels
    }
    runs = ["objective_a", "seed_a", "objective_b", "seed_b"]
    columns = [*runs, "layer", "variant", "weights", "distance", "ci_low", "ci_high"]
    measured = table(tables, "pwcca_between_runs", columns)
    of = (measured["variant"] == variant) & (measured["weights"] == "x")
    rows = measured[of & (measured["seed_a"] == measured["seed_b"])]
    keys = [frozenset(pair) for pair in zip(rows["objective_a"], rows["objective_b"], strict=True)]
    rows = rows[[key in pairs for key in keys]]
    places = pd.DataFrame([pairs[key] for key in keys if key in pairs], index=rows.index)
    rows = _some(rows, "pwcca_between_runs").join(places)
    return _over_runs(rows.rename(columns={"layer": "x", "distance": "value"}))


def _over_runs(rows: pd.DataFrame) -> pd.DataFrame:
    return over_intervals(rows.sort_values("x"), "value", ["panel", "series", "x"])


def _figure(drawn: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(9.6, 8.6), layout="constrained")
    grid = figure.subplots(3, 3)
    for row, (quantity, shown) in zip(grid, drawn.groupby("quantity", sort=False), strict=True):
        row[1].sharey(row[0])
        row[0].set_ylabel(quantity)
        panels, look = (PAIRS, _pair) if quantity == style.DISTANCE else (TITLES, _model)
        for axes, panel in zip(row, panels, strict=True):
            style.curves(axes, shown[shown["panel"] == panel], look)
            style.layer_axis(axes)
    for axes, title in zip(grid[0], TITLES.values(), strict=True):
        axes.set_title(title)
    for axes in grid[:2, 2]:
        axes.axhline(0, color="black", linewidth=0.7)
    grid[2, 2].sharey(grid[2, 0])
    for axes, panel in zip(grid[2], PAIRS, strict=True):
        _name_pairs(axes, panel)
    models = drawn[drawn["quantity"] == INFORMATION]
    shown = set(models["series"])
    looks = [_model(name) for name in dict.fromkeys([*INITIAL.values(), *INITIAL]) if name in shown]
    style.legend(figure, style.key(models, looks), columns=4, title=MASKS)
    return figure


def _name_pairs(axes: Axes, panel: str) -> None:
    axes.set_title(panel)
    axes.set_ylim(bottom=0)
    looks = {label: _pair(pair) for pair, label in PAIRS[panel].items()}
    handles = [Line2D([], [], label=label, **style.stroke(look)) for label, look in looks.items()]
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.22))


def _model(name: str) -> style.Look:
    """The color tells the target, all else the mask."""
    marker, linestyle = CAUSAL if INITIAL.get(name, name) == "untrained_causal" else BOTH
    return replace(style.objective(name), marker=marker, linestyle=linestyle)


def _pair(pair: str) -> style.Look:
    """Striped in the colors of two targets, with the marker of the mask that both have."""
    markers = {_model(name).marker for name in pair.split("-")}
    marker = markers.pop() if len(markers) == 1 else ACROSS
    return replace(style.pair(*pair.split("-")), marker=marker)
