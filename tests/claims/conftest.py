"""The published curves in the form of our tables, as if we had measured just these."""

from itertools import combinations, product

import pandas as pd
import pytest

from bottomup.figures.points import load_published
from tests.claims import published_heads as heads

TRAINED = ("mt", "lm", "mlm")
GROUPED = {"freq": "frequency_rank", "pos": "pos"}
PROPERTIES = {
    "token": ("evolution_token", "Accuracy for top-50 neighbors"),
    "position": ("evolution_position", "Position distance"),
    "left_token": ("same_left_right_tokens", "Same left token"),
    "right_token": ("same_left_right_tokens", "Same right token"),
    "ccg": ("evolution_same_ccg", "Same CCG supertag"),
    "ccg_left": ("evolution_ccg_left_right", "Same CCG (left)"),
    "ccg_right": ("evolution_ccg_left_right", "Same CCG (right)"),
}


def curves(name):
    """Objectives in lower case, layers as numbers, a step as two."""
    table = load_published(name)
    table[["panel", "series"]] = table[["panel", "series"]].apply(lambda names: names.str.lower())
    if table["x"].dtype == int:
        return table.rename(columns={"x": "layer"})
    steps = table["x"].str.split("-", expand=True).astype(int)
    return table.assign(layer_a=steps[0], layer_b=steps[1])


def mutual_information():
    plain = curves("ib_mi_tasks").rename(columns={"series": "objective"})
    plain = plain.assign(reading="plain", positions="all", label="input")
    # The paper has no untrained model: one that forgets nothing.
    first = plain[plain["objective"] == "mlm"]
    untrained = first.assign(objective="untrained", y=first["y"].iloc[0])
    both = curves("ib_src_dst_lm_mlm").rename(columns={"panel": "objective"})
    both["label"] = both["series"].map({"src": "input", "dst": "output"})
    mlm = both["objective"] == "mlm"
    output = both[~mlm & (both["label"] == "output")].assign(reading="plain", positions="all")
    masked = both[mlm].assign(reading="as_trained")
    masked["positions"] = masked["label"].map({"input": "replaced", "output": "changed"})
    table = pd.concat([plain, untrained, output, masked]).rename(columns={"y": "mi_nats"})
    return table.assign(estimator="clusters", n_clusters=10_000)


def pwcca_between_runs(seeds):
    """Of all pairs of runs; objectives are as far apart with as without the same seed."""
    table = curves("change_between_tasks")
    names = table["series"].str.replace(r"(\w+) init\.", r"\1 vs \1", regex=True)
    parts = []
    for a, b in combinations(product(TRAINED, seeds), 2):
        of_pair = names.map(lambda name, pair=(a, b): sorted(name.split(" vs ")) == kinds(pair))
        runs = {"objective_a": a[0], "seed_a": a[1], "objective_b": b[0], "seed_b": b[1]}
        parts.append(table[of_pair].assign(**runs))
    return pd.concat(parts).rename(columns={"y": "distance"})


def kinds(pair):
    return sorted(objective for objective, _ in pair)


def grouped(*names):
    parts = []
    for name in names:
        table = curves(name).rename(columns={"panel": "objective", "series": "group"})
        noise = "_noise" if name.endswith("iwd") else ""
        table["group"] = load_published(name)["series"]
        table["objective"] += noise
        parts.append(table.assign(grouping=GROUPED[name.split("_")[1]]))
    return pd.concat(parts).rename(columns={"y": "distance"})


def neighbours():
    parts = []
    for name, (figure, panel) in PROPERTIES.items():
        table = curves(figure)
        parts.append(table[table["panel"] == panel.lower()].assign(property=name))
    return pd.concat(parts).rename(columns={"series": "objective", "y": "value"})


def published_tables(seeds=(1, 2), half_width=1e-6):
    """The tables of measures; every value has an interval of this half-width."""
    layers = curves("change_by_task").rename(columns={"series": "objective", "y": "distance"})
    tables = {
        "mutual_information": mutual_information(),
        "pwcca_between_layers": layers,
        "change": grouped("change_freq", "change_pos"),
        "influence": grouped("influence_freq", "influence_freq_iwd", "influence_pos"),
        "neighbours": neighbours(),
    }
    tables = {
        name: pd.concat([table.assign(seed=seed) for seed in seeds])
        for name, table in tables.items()
    }
    tables["pwcca_between_runs"] = pwcca_between_runs(seeds)
    return {name: with_intervals(table, half_width) for name, table in tables.items()}


def value_of(table):
    return next(name for name in ("mi_nats", "distance", "value") if name in table)


def with_intervals(table, half_width):
    value = table[value_of(table)]
    table = table.drop(columns=["figure", "panel", "x", "y_uncertainty"], errors="ignore")
    table = table.assign(ci_low=value - half_width, ci_high=value + half_width)
    return table.reset_index(drop=True)


@pytest.fixture(scope="session")
def published():
    return published_tables


@pytest.fixture(scope="session")
def published_heads():
    return heads.published_heads
