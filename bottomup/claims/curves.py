"""From the tables of one seed to curves: estimates in the order of the layers.

Each function raises `NotMeasuredError` where the study has not measured what it reads.
"""

from collections.abc import Sequence

import pandas as pd

from bottomup.claims.claim import NotMeasuredError, Tables
from bottomup.claims.estimate import Estimate, mean, weakest
from bottomup.errors import UserError
from bottomup.heads import GATED

Curve = list[Estimate]

STEP = ("layer_a", "distance")


def rows(tables: Tables, name: str, **where) -> pd.DataFrame:
    """Rows of the table `name` where each column has the value given."""
    if name not in tables:
        raise NotMeasuredError(f"table {name}")
    found = tables[name]
    for column, value in where.items():
        found = found[found[column] == value]
    if found.empty:
        wanted = ", ".join(f"{column} {value}" for column, value in where.items())
        raise NotMeasuredError(f"{wanted} in the table {name}")
    return found


def curve(found: pd.DataFrame, layer: str, value: str) -> Curve:
    """The estimates of `found`, one for each value of the column `layer`, lowest first."""
    if found[layer].duplicated().any():
        columns = [name for name in found if name not in (layer, value)]
        several = [name for name in columns if found.groupby(layer)[name].nunique().max() > 1]
        raise UserError(
            f"several values for one {layer} that differ in {', '.join(several)}; a claim needs "
            f"one; choose in the settings"
        )
    return estimates(found.sort_values(layer), value)


def estimates(found: pd.DataFrame, value: str) -> Curve:
    """An estimate for each row of `found`."""
    return [Estimate(*values) for values in found[[value, "ci_low", "ci_high"]].to_numpy(float)]


def information(
    tables: Tables,
    objective: str,
    label: str = "input",
    reading: str = "plain",
    positions: str = "all",
) -> Curve:
    """Mutual information by clusters, nats, from the embeddings up."""
    found = rows(
        tables,
        "mutual_information",
        **{"objective": objective, "label": label, "reading": reading, "positions": positions},
        estimator="clusters",
    )
    return curve(found, "layer", "mi_nats")


def between_layers(tables: Tables, objective: str) -> Curve:
    """PWCCA distance of consecutive layers, from the step 1-2 up, as published."""
    return curve(_steps(rows(tables, "pwcca_between_layers", objective=objective)), *STEP)


def between_objectives(tables: Tables, a: str, b: str, same_seed: bool = True) -> Curve:
    """PWCCA distance of runs under two objectives, layers 1 and up; pairs of runs are averaged.

    Runs of the same seed have the same initial weights.
    """
    return _between_runs(tables, {a, b}, same_seed)


def between_seeds(tables: Tables, objective: str) -> Curve:
    """PWCCA distance of runs under one objective, layers 1 and up; pairs of runs are averaged."""
    return _between_runs(tables, {objective}, same_seed=False)


def by_group(tables: Tables, name: str, objective: str, grouping: str) -> dict[str, Curve]:
    """Of each group: its change, from the step 1-2 up, or its influence, from layer 1 up."""
    found = rows(tables, name, objective=objective, grouping=grouping)
    found, where = (_steps(found), STEP) if name == "change" else (found, ("layer", "distance"))
    return {group: curve(part, *where) for group, part in found.groupby("group", sort=False)}


def by_rank(tables: Tables, name: str, objective: str) -> list[Curve]:
    """Of each bin of frequency ranks, the most frequent tokens first."""
    groups = by_group(tables, name, objective, "frequency_rank")
    # Bins are named by their bounds: 500-1k.
    first = {group: float(group.split("-")[0].replace("k", "e3")) for group in groups}
    return [groups[group] for group in sorted(groups, key=first.__getitem__)]


def neighbours(tables: Tables, objective: str, property: str) -> Curve:
    """What nearest neighbors share with an occurrence, layers 1 and up."""
    found = rows(tables, "neighbours", objective=objective, property=property)
    return curve(found[found["layer"] > 0], "layer", "value")


def heads(tables: Tables, objective: str, importance: str) -> dict[int, dict[int, Estimate]]:
    """An importance of the encoder's heads: by layer, by head, lowest first."""
    found = rows(
        tables,
        "head_importance",
        **{"objective": objective, "attention": "encoder", "importance": importance},
    )
    return {
        layer: dict(zip(sorted(part["head"]), curve(part, "head", "value"), strict=True))
        for layer, part in found.groupby("layer")
    }


def functions(tables: Tables, objective: str, **where) -> pd.DataFrame:
    """Rows of head_functions that have an accuracy: those whose tokens or words were met."""
    found = rows(tables, "head_functions", objective=objective, **where)
    met = found.dropna(subset="accuracy")
    if met.empty:
        raise NotMeasuredError(f"accuracy of {', '.join(found['function'].unique())}")
    return met


def quality(tables: Tables, objective: str, attention: str, method: str = "gates") -> pd.DataFrame:
    """How good the pruned models are, as a share of the model fine-tuned alike with penalty 0: BLEU
    of MT, else the mean probability of the right token (geometric mean).

    A row for each penalty; column 0 is that of all sentences, the others are those of bootstrap
    samples of them, of the same ones for both models.
    """
    sweep = {"objective": objective, "attention": attention}
    found = rows(tables, "pruning_samples", **sweep, method=method)
    reference = rows(tables, "pruning_samples", **sweep, method="gates", penalty=0)
    best = reference.set_index("sample")["quality"]
    if not best.min() > 0:
        raise NotMeasuredError(f"{objective} of penalty 0 with a quality above 0")
    return found.pivot(index="penalty", columns="sample", values="quality") / best


def heads_left(tables: Tables, objective: str, attention: str) -> pd.DataFrame:
    """By penalty, the share of the heads that gates have left, of each kind, and of all those
    with gates (`gated`)."""
    sweep = {"objective": objective, "attention": attention}
    found = rows(tables, "pruning", **sweep, method="gates").set_index("penalty").sort_index()
    whole = rows(tables, "pruning", **sweep, method="none").iloc[0]
    kinds = GATED[attention]
    columns = [f"heads_{kind}" for kind in kinds]
    shares = {kind: found[f"heads_{kind}"] / whole[f"heads_{kind}"] for kind in kinds}
    return pd.DataFrame(shares).assign(gated=found[columns].sum(axis=1) / whole[columns].sum())


def layers_left(tables: Tables, objective: str, kind: str) -> list[list[float]]:
    """Of each model pruned in all kinds of attention, the share of heads left in each layer,
    lowest first."""
    found = rows(
        tables,
        "gates",
        **{"objective": objective, "attention": "all", "method": "gates", "kind": kind},
    )
    found = found[found["penalty"] > 0]
    if found.empty:
        raise NotMeasuredError(f"penalty above 0 of {objective} in the table gates")
    found = found[found["step"] == found.groupby("penalty")["step"].transform("max")]
    shares = found["kept"].astype(float).groupby([found["penalty"], found["layer"]]).mean()
    return shares.unstack().to_numpy().tolist()


def bottom(curve: Sequence) -> Sequence:
    """The lower third of the layers (or of anything in order): one at least."""
    return curve[: max(1, len(curve) // 3)]


def middle(curve: Sequence) -> Sequence:
    """What is neither `bottom` nor `top`; all of it where nothing is."""
    third = max(1, len(curve) // 3)
    return curve[third:-third] or curve


def top(curve: Sequence) -> Sequence:
    """The upper third of the layers (or of anything in order): one at least."""
    return curve[-max(1, len(curve) // 3) :]


def differences(a: Curve, b: Curve) -> Curve:
    """`a` less `b`, layer by layer."""
    return [x - y for x, y in zip(a, b, strict=True)]


def smallest_fall(curve: Curve) -> Estimate:
    """The least fall over two layers: positive for a curve that falls, but for a single layer."""
    if len(curve) < 3:
        raise NotMeasuredError("model of three layers")
    return weakest(differences(curve[:-2], curve[2:]))


def _steps(found: pd.DataFrame) -> pd.DataFrame:
    above_embeddings = found["layer_a"] > 0
    return found[above_embeddings & (found["layer_b"] == found["layer_a"] + 1)]


def _between_runs(tables: Tables, objectives: set[str], same_seed: bool) -> Curve:
    found = rows(tables, "pwcca_between_runs")
    pairs = found[["objective_a", "objective_b"]].apply(set, axis="columns")
    as_wanted = (found["seed_a"] == found["seed_b"]) == same_seed
    found = found[(pairs == objectives) & as_wanted & (found["layer"] > 0)]
    if found.empty:
        kind = "one seed" if same_seed else "two seeds"
        raise NotMeasuredError(f"pair of runs of {kind} under {' and '.join(sorted(objectives))}")
    runs = ["objective_a", "seed_a", "objective_b", "seed_b"]
    curves = [curve(part, "layer", "distance") for _, part in found.groupby(runs)]
    return [mean(layer) for layer in zip(*curves, strict=True)]
