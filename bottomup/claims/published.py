"""The published curves in the form of our tables, as if we had measured exactly these.

What the papers do not show counts as nothing: initial models forget nothing, and the values have no
error.
"""

from itertools import combinations, product

import numpy as np
import pandas as pd

from bottomup.claims import published_heads as heads
from bottomup.claims.tables import LEARNING
from bottomup.core.files.tables import WITHOUT
from bottomup.corpus.blocks import N_BLOCKS
from bottomup.published import NEIGHBORS, load_published

TRAINED = ("mt", "lm", "mlm")
# What our tables of these measures call their values.
VALUES = ("mi_nats", "distance", "value", "accuracy", "quality")
# Other columns of which they have values without blocks, and what these are called.
BESIDE = {"baseline_accuracy": "baseline_without", "probability": "probability_without"}
GROUPED = {"freq": "frequency_rank", "pos": "pos"}


def curves(name):
    """Published curves, with objectives in lower case, layers as numbers, and a step as two
    layers."""
    table = load_published(name)
    table[["panel", "series"]] = table[["panel", "series"]].apply(lambda names: names.str.lower())
    if table["x"].dtype == int:
        return table.rename(columns={"x": "layer"})
    steps = table["x"].str.split("-", expand=True).astype(int)
    return table.assign(layer_a=steps[0], layer_b=steps[1])


def mutual_information():
    plain = curves("ib_mi_tasks").rename(columns={"series": "objective"})
    plain = plain.assign(reading="plain", positions="all", label="input")
    # The paper has no untrained model; this one forgets nothing.
    first = plain[plain["objective"] == "mlm"]
    initial = [
        first.assign(objective=name, y=first["y"].iloc[0])
        for name in ("untrained", "untrained_causal")
    ]
    both = curves("ib_src_dst_lm_mlm").rename(columns={"panel": "objective"})
    both["label"] = both["series"].map({"src": "input", "dst": "output"})
    mlm = both["objective"] == "mlm"
    output = both[~mlm & (both["label"] == "output")].assign(reading="plain", positions="all")
    masked = both[mlm].assign(reading="as_trained")
    masked["positions"] = masked["label"].map({"input": "replaced", "output": "changed"})
    table = pd.concat([plain, *initial, output, masked]).rename(columns={"y": "mi_nats"})
    return table.assign(shuffled_mi_nats=0.0, clustering_error_nats=0.0)


def pwcca_between_runs(seeds):
    """All pairs of runs; objectives are equally far apart with and without the same seed."""
    table = curves("change_between_tasks")
    names = table["series"].str.replace(r"(\w+) init\.", r"\1 vs \1", regex=True)
    parts = []
    for a, b in combinations(product(TRAINED, seeds), 2):
        objectives = sorted([a[0], b[0]])
        of_pair = [sorted(name.split(" vs ")) == objectives for name in names]
        runs = {"objective_a": a[0], "seed_a": a[1], "objective_b": b[0], "seed_b": b[1]}
        parts.append(table[of_pair].assign(**runs))
    return pd.concat(parts).rename(columns={"y": "distance"}).assign(weights="x")


def grouped(*names):
    parts = []
    for name in names:
        table = curves(name).rename(columns={"panel": "objective", "series": "group"})
        noise = "_noise" if name.endswith("iwd") else ""
        table["group"] = load_published(name)["series"]
        table["objective"] += noise
        parts.append(table.assign(grouping=GROUPED[name.split("_")[1]]))
    return pd.concat(parts).rename(columns={"y": "distance"})


def neighbors():
    parts = []
    for name, (figure, panel) in NEIGHBORS.items():
        table = curves(figure)
        parts.append(table[table["panel"] == panel.lower()].assign(property=name))
    return pd.concat(parts).rename(columns={"series": "objective", "y": "value"})


def learning_curves():
    """The paper says that MLM is two to four times slower than LM. Here it is always 1.5 doublings
    of the tokens behind, the middle of that range."""
    tokens = 2.0 ** np.arange(5, 10, 1 / 16)
    behind = {"lm": 0.0, "mlm": 1.5}
    curves = [
        pd.DataFrame({"tokens": tokens, "dev_loss_nats": 10 + by - np.log2(tokens)}).assign(
            objective=name
        )
        for name, by in behind.items()
    ]
    return pd.concat(curves)


def frames(seeds: tuple[int, ...] = (1, 2, 3)) -> dict[str, pd.DataFrame]:
    """The tables of measures, as `tables.table` reads them."""
    layers = curves("change_by_task").rename(columns={"series": "objective", "y": "distance"})
    of_runs = {
        "mutual_information": mutual_information(),
        "pwcca_between_layers": layers,
        "change": grouped("change_freq", "change_pos"),
        "influence": grouped("influence_freq", "influence_freq_iwd", "influence_pos"),
        "neighbors": neighbors(),
        LEARNING: learning_curves(),
        **heads.tables(),
    }
    tables = {
        name: pd.concat([table.assign(seed=seed) for seed in seeds], ignore_index=True)
        for name, table in of_runs.items()
    }
    tables["pwcca_between_runs"] = pwcca_between_runs(seeds).reset_index(drop=True)
    return {name: exact(table) for name, table in tables.items()}


def exact(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with values that stay the same without any block of documents, in the order of
    columns that our tables have."""
    columns: dict[str, object] = {}
    for name in frame:
        columns[name] = frame[name]
        if name in VALUES:
            columns |= {"ci_low": np.nan, "ci_high": np.nan, WITHOUT: _repeated(frame[name])}
        elif name in BESIDE:
            columns[BESIDE[name]] = _repeated(frame[name])
    return pd.DataFrame(columns, index=frame.index)


def _repeated(values: pd.Series) -> list[np.ndarray]:
    return [*np.repeat(values.to_numpy(float)[:, None], N_BLOCKS, axis=1)]
