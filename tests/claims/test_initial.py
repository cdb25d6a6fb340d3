"""Tables as they are before training."""

import itertools

import numpy as np
import pandas as pd

from bottomup.claims.curves import between_objectives
from bottomup.claims.initial import untrained
from tests.claims.made_up import INITIAL, of_runs, tables

PAIR = ["objective_a", "seed_a", "objective_b", "seed_b"]
RUNS = [(name, seed) for name in ("lm", "mlm", "mt", "untrained") for seed in (1, 2)]
RUNS += [("untrained_causal", seed) for seed in (1, 2)]


def before():
    """Every pair of runs, each with its own distance at each of two layers."""
    rows = [(*a, *b, layer) for a, b in itertools.combinations(RUNS, 2) for layer in (1, 2)]
    rows = pd.DataFrame(rows, columns=[*PAIR, "layer"])
    made = of_runs(np.arange(len(rows)) / 100, 0.001, np.random.default_rng(0))
    frame = pd.concat([rows, made], axis="columns")
    return frame, untrained(tables({"pwcca_between_runs": frame}), INITIAL)


def distance(frame, *pair):
    found = frame[(frame[PAIR] == [*pair]).all(axis="columns")]
    return found.sort_values("layer")["distance"].to_numpy()


def test_pairs_are_those_of_the_models_that_training_starts_from():
    frame, tables_before = before()
    lm_mt = between_objectives(tables_before, "lm", "mt")[:, 0]
    # The pair was measured with the causal model second.
    known = [distance(frame, "untrained", seed, "untrained_causal", seed) for seed in (1, 2)]
    np.testing.assert_allclose(lm_mt, np.mean(known, axis=0))
    # The same model, under one seed; another one, under two.
    assert (between_objectives(tables_before, "mt", "mlm") == 0).all()
    apart = between_objectives(tables_before, "mt", "mlm", same_seed=False)[:, 0]
    np.testing.assert_allclose(apart, distance(frame, "untrained", 1, "untrained", 2))


def test_a_pair_that_several_objectives_share_is_there_for_each():
    _, tables_before = before()
    found = tables_before["pwcca_between_runs"]
    assert found.rows.index.has_duplicates
    assert not found.rows.duplicated([*PAIR, "layer"]).any()
    values = found.values("distance")[:, 0]
    for objective in ("mt", "mlm"):
        # A mask over rows whose labels repeat keeps exactly those that it says.
        kept = found.filtered(found.rows["objective_b"] == objective)
        expected = values[(found.rows["objective_b"] == objective).to_numpy()]
        np.testing.assert_array_equal(kept.values("distance")[:, 0], expected)


def test_runs_take_the_names_of_what_starts_from_them():
    frame = of_runs([1.0, 2.0, 3.0, 4.0], 0.1, np.random.default_rng(0), seed=1)
    frame["objective"] = ["lm", "untrained", "untrained_causal", "start"]
    initial = INITIAL | {"mlm_40": "untrained", "spans": "start", "start": "start"}
    found = untrained(tables({"change": frame}), initial)["change"]
    values = dict(zip(found.rows["objective"], found.values("distance")[:, 0], strict=True))
    assert values["lm"] == values["mlm_causal"] == values["untrained_causal"] == 3
    assert values["mt"] == values["mlm"] == values["lm_bidirectional"] == values["mlm_40"] == 2
    assert values["spans"] == values["start"] == 4


def test_without_initial_models_nothing_is_before_training():
    frame = of_runs([1.0], 0.1, np.random.default_rng(0), seed=1, objective="lm")
    found = untrained(tables({"change": frame, "pairs": frame.drop(columns="objective")}), INITIAL)
    assert found["change"].rows.empty and "pairs" not in found
