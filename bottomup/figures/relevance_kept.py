"""Do gates keep what relevance found? Relevance before pruning of the encoder heads that they keep.

Not a figure of the papers; the sentence it asks is of heads, section 6.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bottomup.core.errors import UserError
from bottomup.figures import heads, layout, style
from bottomup.figures.points import Tables, join, points, table

NEEDED = [*heads.HEAD, "importance", "value"]
QUANTITY = "relevance before pruning, in multiples of an even share"
MOST, CHANCE = "most relevant", "random"
LOOKS = {
    "gates": style.METHODS["gates"],
    MOST: style.Look("the most relevant, as many", style.METHODS["relevance"].color, ""),
    CHANCE: style.Look("as many at random: mean, and 95 % of choices", style.GRAY, ""),
}
DRAWS = 1000  # random orders of heads


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `gates` and `head_importance`.

    A panel for each objective and the attention that has gates. Relevance is that of the model
    before pruning, as a multiple of the share that each head of its layer would have if all had
    the same. `x` is the number of encoder heads kept, `y` their mean relevance; beside it that of
    the most relevant heads of all layers, and of heads at random. With several seeds a point is the
    mean of a penalty, with the lowest and the highest seed.
    """
    gates = heads.with_panel(heads.last_gates(tables, method="gates", kind="encoder"))
    gates = _with_relevance(gates, table(tables, "head_importance", NEEDED))
    drawn = join([_kept(gates), _references(gates)])
    names = heads.panels(gates)
    titles = {name: heads.title(name, names, heads.PRUNED) for name in names}
    label = "relevance before pruning\nof the heads kept (even share: 1)"
    figure, rows = layout.grid(titles, {"relevance": label}, 2.7, [3], (0.5, 0.5))
    for _, panels in rows:
        for name, axes in panels.items():
            _panel(axes, drawn[drawn["panel"] == name])
    ours = drawn[drawn["series"] == "gates"]
    style.legend(figure, style.key(ours, LOOKS, style.SEEDS), columns=len(names))
    return figure, drawn


def _with_relevance(gates: pd.DataFrame, importance: pd.DataFrame) -> pd.DataFrame:
    """The heads of pruned models with the `relevance` that each had before, 1 for an even share."""
    relevance = importance[
        (importance["importance"] == heads.RELEVANCE) & (importance["attention"] == "encoder")
    ]
    shares = relevance.groupby(["objective", "seed", "layer"])["value"].transform("mean")
    relevance = relevance.assign(relevance=relevance["value"] / shares)
    known = gates.merge(
        relevance[["objective", "seed", "layer", "head", "relevance"]],
        on=["objective", "seed", "layer", "head"],
        how="left",
    )
    unknown = known[known["relevance"].isna()]
    if len(unknown):
        of = f"{unknown.iloc[0]['objective']} {unknown.iloc[0]['seed']}"
        raise UserError(
            f"the table head_importance has no relevance of {of}, which was pruned; measure it"
        )
    return known


def _kept(gates: pd.DataFrame) -> pd.DataFrame:
    """Of each pruned model that keeps any head: how many, and how relevant they were."""
    kept = gates[gates["kept"]].groupby(["panel", *heads.MODEL])["relevance"]
    models = kept.agg(x="size", y="mean").reset_index()
    return points(heads.over_penalties(models.assign(series="gates"), ["panel", "series"]))


def _references(gates: pd.DataFrame) -> pd.DataFrame:
    """For each number of heads, the most relevant as many, and as many at random; means over
    runs."""
    parts = []
    for panel, shown in gates.groupby("panel", sort=False):
        rng = np.random.default_rng(1)  # of all runs, so that each has orders of its own
        runs = [
            run.groupby(["layer", "head"])["relevance"].first().to_numpy()
            for _, run in shown.groupby("seed")
        ]
        numbers = np.arange(1, min(map(len, runs)) + 1)
        most = np.mean([_means(np.sort(run)[::-1])[: len(numbers)] for run in runs], axis=0)
        parts.append(pd.DataFrame({"panel": panel, "series": MOST, "x": numbers, "y": most}))
        draws = np.mean([_at_random(run, rng)[:, : len(numbers)] for run in runs], axis=0)
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        chance = {"x": numbers, "y": 1.0, "low": low, "high": high}
        parts.append(pd.DataFrame({"panel": panel, "series": CHANCE, **chance}))
    return points(pd.concat(parts))


def _means(values: np.ndarray) -> np.ndarray:
    """The mean of the first, of the first two, and so on, along the last axis."""
    return values.cumsum(axis=-1) / np.arange(1, values.shape[-1] + 1)


def _at_random(relevance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Mean relevance of 1, 2, ... heads in a random order, `[draws, heads]`."""
    orders = np.tile(relevance, (DRAWS, 1))
    return _means(rng.permuted(orders, axis=1))


def _panel(axes: Axes, shown: pd.DataFrame) -> None:
    chance = shown[shown["series"] == CHANCE]
    axes.fill_between(
        chance["x"], chance["low"], chance["high"], color=style.GRAY, alpha=0.25, linewidth=0
    )
    for name in (CHANCE, MOST):
        line = shown[shown["series"] == name]
        axes.plot(line["x"], line["y"], **style.stroke(LOOKS[name]))
    heads.curves(
        axes, shown[shown["series"] == "gates"], LOOKS.__getitem__, lambda _: shown["x"].max()
    )
    heads.from_all_to_none(axes, shown["x"].max(), "encoder heads kept")
