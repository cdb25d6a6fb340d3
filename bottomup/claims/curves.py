"""From the tables of a study to curves: values with their draws, in the order of the layers.

A curve is an array `[layers, 1 + 2 * N_DRAWS]`, as from `tables.Table.values`. Each function raises
`NotMeasuredError` if the study has not measured what it reads.
"""

from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

import numpy as np
import pandas as pd

from bottomup.claims import NotEnoughError, NotMeasuredError
from bottomup.claims.tables import LEARNING, N_DRAWS, NOISE, RUNS, Table, Tables, seeds
from bottomup.core.errors import UserError
from bottomup.core.kinds import GATED
from bottomup.core.names import objective_and_step
from bottomup.core.seeds import generator

Curve = np.ndarray
Layers = TypeVar("Layers", np.ndarray, list)  # or groups, in their order

# How many parts of the layers, or of any sequence, there are: the first is the bottom, the last the
# top, and what lies between them the middle.
PARTS = ContextVar("PARTS", default=3)


def rows(tables: Tables, name: str, **where) -> Table:
    """The rows of the table `name` in which each column has the given value."""
    if name not in tables:
        raise NotMeasuredError(f"table {name}", name)
    return tables[name].where(**where)


def curve(table: Table, layer: str, value: str) -> Curve:
    """The values of `table`, one for each value of the column `layer`, lowest first."""
    table.require(layer)
    layers = table.rows[layer].to_numpy()
    if len(np.unique(layers)) < len(layers):
        raise UserError(
            f"several values for one {layer} of the table {table.name} that differ in "
            f"{', '.join(_several(table.rows, layer, value))}; a claim needs one: let it choose "
            "rows by these columns, or the table by `shown`"
        )
    return table.values(value)[np.argsort(layers, kind="stable")]


def _several(rows: pd.DataFrame, layer: str, value: str) -> list[str]:
    """The columns in which rows of one layer differ: those left of the value, which say what it is
    of; others, such as its interval, only if these are the same."""
    groups = rows.groupby(layer)
    columns = [name for name in rows if name not in (layer, value)]
    several = [name for name in columns if groups[name].nunique(dropna=False).max() > 1]
    about = {*rows.columns[: rows.columns.get_loc(value)]}
    return [name for name in several if name in about] or several


def information(
    tables: Tables,
    objective: str,
    label: str = "input",
    reading: str = "plain",
    positions: str = "all",
) -> Curve:
    """Mutual information, nats, from the embeddings up."""
    where = {"objective": objective, "label": label, "reading": reading, "positions": positions}
    table = rows(tables, "mutual_information", **where)
    values = curve(table, "layer", "mi_nats")
    if label == "input":
        return values
    # All layers know little of the next token, so much of the estimate is its bias.
    chance = curve(table, "layer", "shuffled_mi_nats")
    return values if np.isnan(chance).all() else values - chance  # a classifier has none


def between_layers(tables: Tables, objective: str) -> Curve:
    """PWCCA distance between consecutive layers from the step 1-2 up, as published."""
    table = _steps(rows(tables, "pwcca_between_layers", objective=objective))
    return curve(table, "layer_a", "distance")


def between_objectives(tables: Tables, a: str, b: str, same_seed: bool = True) -> Curve:
    """PWCCA distance between runs of two objectives from layer 1 up, mean over pairs of runs.

    Runs of the same seed have the same initial weights.
    """
    return _between_runs(tables, {a, b}, same_seed)


def between_seeds(tables: Tables, objective: str) -> Curve:
    """PWCCA distance between runs of one objective from layer 1 up, mean over pairs of runs."""
    return _between_runs(tables, {objective}, same_seed=False)


def by_group(tables: Tables, name: str, objective: str, grouping: str) -> dict[str, Curve]:
    """By group, its change from the step 1-2 up, or its influence from layer 1 up."""
    table, layer = rows(tables, name, objective=objective, grouping=grouping), "layer"
    if name == "change":
        table, layer = _steps(table), "layer_a"
    return {
        group: curve(table.where(group=group), layer, "distance")
        for group in table.rows["group"].unique()
    }


def by_rank(tables: Tables, name: str, objective: str) -> list[Curve]:
    """The curve of each bin of frequency ranks, the most frequent tokens first."""
    groups = by_group(tables, name, objective, "frequency_rank")
    # Bounds name the bins: 500-1k.
    first = {group: float(group.split("-")[0].replace("k", "e3")) for group in groups}
    return [groups[group] for group in sorted(groups, key=first.__getitem__)]


def layers(tables: Tables, name: str, objective: str, **where) -> Curve:
    """The values of a table with a row for each layer, from layer 1 up."""
    table = rows(tables, name, objective=objective, **where)
    return curve(table.filtered(table.rows["layer"] > 0), "layer", "value")


def neighbors(tables: Tables, objective: str, property: str) -> Curve:
    """What nearest neighbors share with an occurrence, from layer 1 up."""
    return layers(tables, "neighbors", objective, property=property)


def heads(tables: Tables, objective: str, importance: str) -> np.ndarray:
    """An importance of the encoder's heads, `[layers, heads, 1 + 2 * N_DRAWS]`; relevance by the
    rule that the table holds."""
    table = rows(tables, "head_importance", objective=objective, attention="encoder")
    table = table.filtered(table.rows["importance"].str.startswith(importance))
    if table.rows.empty:
        raise NotMeasuredError(f"{importance} of {objective} in the table head_importance")
    return of_heads(table)


def of_heads(table: Table) -> np.ndarray:
    """The values of a table with a row for each head, `[layers, heads, 1 + 2 * N_DRAWS]`."""
    numbers = sorted(table.rows["layer"].unique())
    return np.stack([curve(table.where(layer=n), "head", "value") for n in numbers])


def functions(tables: Tables, objective: str, **where) -> Table:
    """The rows of head_functions."""
    return rows(tables, "head_functions", objective=objective, **where)


def quality(
    tables: Tables, objective: str, attention: str, method: str = "gates", by: str = "quality"
) -> dict[float, np.ndarray]:
    """The quality of pruned models, by penalty, as a share of that of the model fine-tuned likewise
    with penalty 0. The column is `quality` (BLEU of MT) or `probability` (of the right token)."""
    sweep = {"objective": objective, "attention": attention}
    table = rows(tables, "pruning", **sweep, method=method)
    table = table.filtered(table.rows[by].notna())
    [best] = rows(tables, "pruning", **sweep, method="gates", penalty=0.0).values(by)
    if not best[0] > 0:
        raise NotEnoughError(f"{objective} of penalty 0 with a quality above 0")
    return dict(zip(table.rows["penalty"], table.values(by) / best, strict=True))


def heads_left(tables: Tables, objective: str, attention: str) -> pd.DataFrame:
    """By penalty, the share of heads that gates leave, for each kind and for all heads with gates
    (`gated`)."""
    sweep = {"objective": objective, "attention": attention}
    pruned = rows(tables, "pruning", **sweep, method="gates").rows
    pruned = pruned.set_index("penalty").sort_index()
    whole = rows(tables, "pruning", **sweep, method="none").rows.iloc[0]
    kinds = GATED[attention]
    columns = [f"heads_{kind}" for kind in kinds]
    shares = {kind: pruned[f"heads_{kind}"] / whole[f"heads_{kind}"] for kind in kinds}
    return pd.DataFrame(shares).assign(gated=pruned[columns].sum(axis=1) / whole[columns].sum())


def last_gates(tables: Tables, objective: str, attention: str, kind: str) -> pd.DataFrame:
    """The gates of this kind in each model of a penalty above 0, at its last step."""
    where = {"objective": objective, "attention": attention, "method": "gates", "kind": kind}
    gates = rows(tables, "gates", **where).rows
    gates = gates[gates["penalty"] > 0]
    if gates.empty:
        raise NotMeasuredError(f"penalty above 0 of {objective} in the table gates")
    return gates[gates["step"] == gates.groupby("penalty")["step"].transform("max")]


def layers_left(tables: Tables, objective: str, kind: str) -> np.ndarray:
    """The share of heads left in each layer, lowest first, of each model pruned in all kinds of
    attention: `[models, layers]`."""
    gates = last_gates(tables, objective, "all", kind)
    shares = gates["kept"].astype(float).groupby([gates["penalty"], gates["layer"]]).mean()
    return shares.unstack().to_numpy()


def learning(tables: Tables, objective: str) -> pd.DataFrame:
    """The evaluations of a run on dev, in order: tokens read, and the lowest loss so far, nats."""
    evaluations = rows(tables, LEARNING, objective=objective).rows.dropna(subset="dev_loss_nats")
    evaluations = evaluations.sort_values("tokens")[["tokens", "dev_loss_nats"]]
    return evaluations.assign(dev_loss_nats=evaluations["dev_loss_nats"].cummin())


def at_steps(
    tables: Tables, name: str, objective: str, value: Callable[[str], np.ndarray]
) -> dict[int, np.ndarray]:
    """A value of the objective's runs at a step, by the number of updates, for all steps that the
    table `name` has.

    value: gives it, from the name of the objective at a step.
    """
    by_step = {}
    for known in rows(tables, name).rows["objective"].unique():
        of, step = objective_and_step(known)
        if of == objective and step is not None:
            by_step[step] = value(known)
    return by_step


def midpoint(times: np.ndarray, curve: Curve) -> np.ndarray:
    """When a curve rises: the mean time of its rise, which for a sigmoid is its midpoint.

    times: `[n]`, in order; curve: the values then, `[n, 1 + 2 * N_DRAWS]`.

    It is linear in the values as shares of the whole rise. So noise moves it little: by twice the
    square of the noise, as a share of the rise, times the distance from the midpoint to the middle
    of the times. The first time at which a rise is significant would be worse: of two curves that
    rise together, the noisier one would seem later.
    """
    rises = np.diff(curve, axis=0)
    return (times[1:] + times[:-1]) / 2 @ rises / rises.sum(axis=0)


def of_pairs(table: Table, objectives: set[str], same_seed: bool) -> Table:
    """The pairs of runs of these two objectives, or of this one, with one seed if `same_seed`, else
    with two."""
    names = table.rows[["objective_a", "objective_b"]]
    of_both = names.isin(objectives).all(axis="columns")
    distinct = (names["objective_a"] != names["objective_b"]) == (len(objectives) == 2)
    as_wanted = (table.rows["seed_a"] == table.rows["seed_b"]) == same_seed
    kept = table.filtered(of_both & distinct & as_wanted)
    if kept.rows.empty:
        kind = "one seed" if same_seed else "two seeds"
        raise NotMeasuredError(f"pair of runs of {kind} under {' and '.join(sorted(objectives))}")
    return kept


@contextmanager
def parts_of_layers(n: int) -> Iterator[None]:
    """Within it, the bottom and the top are an n-th of the layers each, in place of a third."""
    before = PARTS.set(n)
    try:
        yield
    finally:
        PARTS.reset(before)


def bottom(curve: Layers) -> Layers:
    """The lower third of two layers or more (or of any sequence), at least one."""
    return curve[: _one_part(curve)]


def middle(curve: Layers) -> Layers:
    """What is neither `bottom` nor `top`; NotEnoughError if nothing is."""
    part = _one_part(curve)
    between = curve[part:-part]
    if not len(between):
        raise NotEnoughError("a layer, step or group between the bottom and the top")
    return between


def top(curve: Layers) -> Layers:
    """The upper third of two layers or more (or of any sequence), at least one."""
    return curve[-_one_part(curve) :]


def _one_part(curve: Sized) -> int:
    """How many are the bottom, and as many the top; NotEnoughError if these would be the same."""
    if len(curve) < 2:
        raise NotEnoughError("a second layer, step or group, which tells the top from the bottom")
    return max(1, len(curve) // PARTS.get())


def rounded(draws: np.ndarray, step: float, tables: Tables, what: str) -> np.ndarray:
    """A statistic that is only known up to a `step`, with draws of noise of that size.

    It rests on a count, where one more changes it by a step, or on evaluations that are a step
    apart. Such values of several runs may be equal by chance, and would then seem exact. what: of
    what it is, by whose order of draws it is told from others of the same value.
    """
    rng = generator(1, "rounding", *map(str, seeds(tables)))
    noise = np.zeros_like(draws)
    noise[NOISE] = rng.uniform(-step / 2, step / 2, N_DRAWS)
    noise[NOISE] = generator(1, "rounding", what).permutation(noise[NOISE])
    return draws + noise


def mean(parts: np.ndarray | Sequence[np.ndarray]) -> np.ndarray:
    """The mean over the first axis: layers, groups, models."""
    return np.mean(parts, axis=0)


def log_ratio(curve: Curve, other: Curve) -> Curve:
    """The natural logarithm of a ratio; NaN where a side is not above 0, as a draw of a small value
    may be."""
    above, below = (np.log(np.where(of > 0, of, np.nan)) for of in (curve, other))
    return above - below


def _steps(table: Table) -> Table:
    above_embeddings = table.rows["layer_a"] > 0
    consecutive = table.rows["layer_b"] == table.rows["layer_a"] + 1
    return table.filtered(above_embeddings & consecutive)


def _between_runs(tables: Tables, objectives: set[str], same_seed: bool) -> Curve:
    table = rows(tables, "pwcca_between_runs")
    table = of_pairs(table.filtered(table.rows["layer"] > 0), objectives, same_seed)
    runs = table.rows.groupby(RUNS)
    return mean([curve(table.with_rows(pair), "layer", "distance") for _, pair in runs])
