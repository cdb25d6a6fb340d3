"""What the attention mask alone does to representations, and what training and its target add.

Models predict the next token or a masked one, under a causal mask or one that sees both sides; they
are shown by layer, beside MT and the untrained models.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bottomup.figures import style
from bottomup.figures.means import less, over_runs, since_layer_0
from bottomup.figures.pairs import RUNS
from bottomup.figures.points import NoRowsError, Tables, join, points, select
from bottomup.measures.jackknife import ANY, UNIT, WITHOUT, Range

# Marker and line of each mask, and the marker for a pair with two masks.
CAUSAL, BOTH, ACROSS = ("<", (0, (3, 1.2))), ("o", "-"), "X"
MASKS = "dashed, ◀: causal mask, sees earlier tokens alone; solid, ●: sees both sides"
TOKEN = "share of neighbors, same token"
DIFFERENCES = [  # of the first two rows
    "difference in information\nsince layer 0, nats",
    "difference in share\nof neighbors, same token",
]
UNTRAINED, TRAINED, GAIN = "untrained", "trained", "trained less untrained"
TITLES = {
    UNTRAINED: "untrained:\nwhat the mask does alone",
    TRAINED: "trained:\nmask and target together",
    GAIN: "trained less untrained, same mask:\nwhat training adds",
}
PAIRS = ["untrained, mask differs", "trained, target or mask differs", "trained, as in the paper"]
# For pairs with known names; others are named after both models.
LABELS = {
    "untrained-untrained_causal": "causal – both sides",
    "lm-lm_bidirectional": "LM: causal – both sides",
    "mlm-mlm_causal": "MLM: causal – both sides",
    "lm-mlm_causal": "causal: LM – MLM",
    "mlm-lm_bidirectional": "both sides: MLM – LM",
    "lm-mlm": "LM – MLM, mask differs, too",
    "lm-mt": "LM – MT, mask differs, too",
    "mt-mlm": "MT – MLM",
}


@dataclass(frozen=True)
class Model:
    """What is known of a model: its mask, the untrained model that it starts from (itself, if
    untrained), what it predicts (its objective, or the one that this is a variant of), and whether
    its objective is such a variant."""

    causal: bool
    initial: str
    target: str | None
    variant: bool

    @property
    def trained(self) -> bool:
        return self.target is not None


Models = dict[str, Model]


@style.paper()
def draw(
    tables: Tables, models: dict[str, dict], estimate: dict[str, int], variant: str
) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `mutual_information`, `neighbors` and `pwcca_between_runs`,
    with the values without each block.

    `models` are the objectives to show, with the fields of `Model`. `estimate` has the `n_clusters`
    and the `n_tokens` to show, `variant` is the kind of PWCCA. A trained model and its untrained
    one are compared within a seed.
    """
    known = {name: Model(**model) for name, model in models.items()}
    of_input = {"label": "input", "reading": "plain", "positions": "all", "estimator": "clusters"}
    named = {"mi_nats": "value", "clustering_error_nats": "noise"}
    information = _runs(tables, "mutual_information", of_input | estimate, named)
    information = since_layer_0(information, ["series"])
    token = _runs(tables, "neighbors", {"property": "token", "metric": "cosine"}, {})
    drawn = join(
        [
            points(_levels(information, known, ANY), quantity=style.INFORMATION),
            points(_levels(token, known, UNIT), quantity=TOKEN),
            points(_distances(tables, known, variant), quantity=style.DISTANCE),
        ]
    )
    return _figure(drawn, known), drawn


def _runs(tables: Tables, name: str, wanted: dict, named: dict) -> pd.DataFrame:
    """The rows with the values in `wanted`; `named` renames columns to series, x and value."""
    columns = ["objective", "seed", "layer", "ci_low", "ci_high", WITHOUT]
    rows = select(tables, name, [*columns, *named], **wanted)
    return rows.rename(columns={"objective": "series", "layer": "x", **named})


def _levels(rows: pd.DataFrame, models: Models, within: Range) -> pd.DataFrame:
    """Each model, and each trained model less its initial one, in pairs."""
    trained = rows["series"].isin([name for name, model in models.items() if model.trained])
    levels = rows.assign(panel=np.where(trained, TRAINED, UNTRAINED))
    initial = rows["series"].map({name: model.initial for name, model in models.items()})
    others = rows.rename(columns={"series": "initial"})
    gain = less(rows.assign(initial=initial)[trained], others, ["initial", "seed", "x"], within)
    gain = _over_runs(gain.assign(panel=GAIN), within.of_differences)
    return join([_over_runs(levels, within), gain])


def _distances(tables: Tables, models: Models, variant: str) -> pd.DataFrame:
    columns = [*RUNS, "layer", "distance", "ci_low", "ci_high", WITHOUT]
    measured = select(tables, "pwcca_between_runs", columns, variant=variant, weights="x")
    rows = measured[measured["seed_a"] == measured["seed_b"]]
    pairs = [*zip(rows["objective_a"], rows["objective_b"], strict=True)]
    panels = [_panel(pair, models) for pair in pairs]
    rows = rows.assign(series=[*map(_series, pairs)], panel=panels).dropna(subset="panel")
    if rows.empty:
        raise NoRowsError(
            "the table pwcca_between_runs has no two runs of one seed that differ in mask or in "
            "target alone"
        )
    return _over_runs(rows.rename(columns={"layer": "x", "distance": "value"}), UNIT)


def _series(pair: tuple[str, str]) -> str:
    """The name of a pair, whichever of the two came first when it was measured."""
    return next((name for name in LABELS if {*name.split("-")} == {*pair}), "-".join(pair))


def _panel(pair: tuple[str, str], models: Models) -> str | None:
    """The panel that compares two models; None if they differ in both mask and target, as variants
    do from each other."""
    a, b = (models[name] for name in pair)
    untrained, variants, compared = PAIRS
    if not a.trained:
        return untrained if a.causal != b.causal else None
    if not (a.variant or b.variant):
        return compared
    return variants if a.causal == b.causal or a.target == b.target else None


def _over_runs(rows: pd.DataFrame, within: Range) -> pd.DataFrame:
    return over_runs(rows.sort_values("x"), ["panel", "series", "x"], within)


def _figure(drawn: pd.DataFrame, models: Models) -> Figure:
    def of_model(name: str) -> style.Look:
        return _model(name, models)

    def of_pair(pair: str) -> style.Look:
        return _pair(pair, models)

    figure = Figure(figsize=(9.6, 8.6), layout="constrained")
    grid = figure.subplots(3, 3)
    for row, (quantity, shown) in zip(grid, drawn.groupby("quantity", sort=False), strict=True):
        row[1].sharey(row[0])
        row[0].set_ylabel(quantity)
        panels, look = (PAIRS, of_pair) if quantity == style.DISTANCE else (TITLES, of_model)
        for axes, panel in zip(row, panels, strict=True):
            style.curves(axes, shown[shown["panel"] == panel], look)
            style.layer_axis(axes)
    for axes, title in zip(grid[0], TITLES.values(), strict=True):
        axes.set_title(title)
    for axes, label in zip(grid[:2, 2], DIFFERENCES, strict=True):
        axes.set_ylabel(label)
    for axes in (*grid[0], grid[1, 2]):
        style.across(axes)
    grid[2, 2].sharey(grid[2, 0])
    for axes, panel in zip(grid[2], PAIRS, strict=True):
        _name_pairs(axes, panel, drawn[drawn["panel"] == panel], of_pair)
    shown = drawn[drawn["quantity"] == style.INFORMATION]
    looks = {name: of_model(name) for name in _ordered(set(shown["series"]), models)}
    style.legend(figure, style.key(shown, looks), columns=4, title=MASKS)
    return figure


def _ordered(names: set[str], models: Models) -> list[str]:
    """Untrained models first, then by target, causal models first."""

    def place(name: str) -> tuple:
        return models[name].target or "", not models[name].causal, name

    return sorted(names, key=place)


def _name_pairs(
    axes: Axes, panel: str, shown: pd.DataFrame, look: Callable[[str], style.Look]
) -> None:
    axes.set_title(panel)
    axes.set_ylim(bottom=0)
    pairs = set(shown["series"])
    looks = {LABELS[pair]: look(pair) for pair in LABELS if pair in pairs}
    looks |= {look(pair).label: look(pair) for pair in sorted(pairs - LABELS.keys())}
    handles = [Line2D([], [], label=label, **style.stroke(look)) for label, look in looks.items()]
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.22))


def _model(name: str, models: Models) -> style.Look:
    """The color shows the target; marker and line show the mask."""
    marker, linestyle = CAUSAL if models[name].causal else BOTH
    return replace(style.objective(name), marker=marker, linestyle=linestyle)


def _pair(pair: str, models: Models) -> style.Look:
    """Striped in the colors of two targets, with the marker of their common mask."""
    markers = {_model(name, models).marker for name in pair.split("-")}
    marker = markers.pop() if len(markers) == 1 else ACROSS
    return replace(style.pair(*pair.split("-")), marker=marker)
