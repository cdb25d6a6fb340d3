"""Draws of what other text, or other noise, would have shown."""

import logging

import numpy as np
import pandas as pd
import pytest

from bottomup.claims import NotMeasuredError
from bottomup.claims.catalog import CLAIMS
from bottomup.claims.curves import curve
from bottomup.claims.finding import find_all
from bottomup.claims.tables import (
    N_DRAWS,
    NOISE,
    TEXT,
    blocks_of,
    degrees_of_freedom,
    load,
    mixtures,
    of_seeds,
    seeds,
    select,
    table,
)
from bottomup.core.errors import UserError
from bottomup.measures import jackknife
from tests.claims.made_up import of_runs, without


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_a_linear_statistic_varies_over_draws_as_the_jackknife_says(rng):
    change = of_runs([1.0, 5.0, 2.0], [0.1, 0.7, 0.3], rng)
    influence = of_runs([3.0, 4.0], [0.2, 0.4], rng)
    # Paired across two tables of one split.
    a = table("change", change).values("distance")
    b = table("influence", influence).values("distance")
    drawn = 2 * a[0] - a[1] + 3 * b[1] / 7
    known = [np.stack(frame[jackknife.WITHOUT]) for frame in (change, influence)]
    by_block = 2 * known[0][0] - known[0][1] + 3 * known[1][1] / 7
    assert drawn[TEXT].std() == pytest.approx(jackknife.error(drawn[0], by_block), rel=1e-9)
    assert drawn[TEXT].mean() == pytest.approx(drawn[0]) == pytest.approx(2 - 5 + 12 / 7)
    assert (drawn[NOISE] == drawn[0]).all()


def test_a_value_of_any_name_varies_if_its_interval_stands_beside_it(rng, tmp_path):
    """Else a claim on a measure of one's own would rest on values that other text cannot move."""
    frame = of_runs([1.0, 5.0], [0.1, 0.7], rng).rename(columns={"distance": "norm"})
    frame = frame.assign(ci_low=0.0, ci_high=9.0, n=3)
    measured = table("norm", frame)
    assert measured.values("norm")[:, TEXT].std(1) == pytest.approx([0.1, 0.7])
    assert (measured.values("n") == 3).all()
    with pytest.raises(UserError, match=r"the table norm has no column without"):
        table("norm", frame.drop(columns="without"))


def test_another_column_varies_by_the_one_right_of_it_and_by_no_other(rng):
    """As `accuracy` of pruned models, which is no `quality` and has no values without blocks."""
    frame = of_runs([1.0, 5.0], [0.1, 0.7], rng).rename(columns={"distance": "quality"})
    frame = frame.assign(probability=[2.0, 3.0])
    frame = frame.assign(probability_without=[*without([2.0, 3.0], 0.2, rng)], accuracy=[0.5, 0.6])
    draws = table("pruning", frame)
    assert draws.values("quality")[:, TEXT].std(1) == pytest.approx([0.1, 0.7])
    assert draws.values("probability")[:, TEXT].std(1) == pytest.approx([0.2, 0.2])
    assert (draws.values("accuracy") == [[0.5], [0.6]]).all()
    assert not {"without", "probability_without"} & {*draws.rows}


def test_values_without_blocks_of_no_column_are_a_mistake(rng):
    frame = of_runs([1.0, 5.0], [0.1, 0.7], rng).drop(columns="ci_low")
    with pytest.raises(UserError, match=r"the table change has values without .* no column ci_low"):
        table("change", frame)


@pytest.mark.parametrize("n_blocks", [2, 5, 20])
def test_mixtures_are_orthogonal(rng, n_blocks):
    weights = mixtures(n_blocks, rng)
    # N_DRAWS times the identity, and no draw is favored.
    expected = np.eye(n_blocks) * N_DRAWS
    np.testing.assert_allclose(weights @ weights.T, expected, atol=1e-9)
    np.testing.assert_allclose(weights.sum(1), 0, atol=1e-9)


def test_documents_of_two_splits_are_not_paired(rng):
    frame = of_runs([1.0], 0.5, rng)
    test = table("change", frame).values("distance")[0, TEXT]
    dev = table("head_importance", frame, split="dev").values("distance")[0, TEXT]
    assert abs(np.corrcoef(test, dev)[0, 1]) < 0.3


def test_noise_is_not_shared_between_rows(rng):
    frame = of_runs([1.0] * 40, 0.5, rng, layer=range(40)).rename(columns={"distance": "mi_nats"})
    frame["clustering_error_nats"] = [0.2] * 39 + [np.nan]
    draws = table("mutual_information", frame).values("mi_nats")
    noise = draws[:-1, NOISE]
    assert noise.std() == pytest.approx(0.2, rel=0.05)
    # 200 draws have correlations of 0.07 by chance, at most 0.3 among 741.
    correlations = np.corrcoef(noise)[np.triu_indices(39, 1)]
    assert np.abs(correlations).max() < 0.35
    # A mean of 39 has their variance over 39.
    assert noise.mean(0).std() == pytest.approx(0.2 / 39**0.5, rel=0.2)
    # What has no such error, as a classifier, has none.
    assert (draws[-1, NOISE] == 1).all()


def test_draws_of_a_row_are_its_own_wherever_it_stands(rng):
    """Whatever the order of objectives, and with a checkpoint before them."""
    frame = of_runs(range(6), 0.5, rng, objective=["lm", "mt"] * 3, layer=[0, 0, 1, 1, 2, 2])
    frame = frame.rename(columns={"distance": "mi_nats"}).assign(clustering_error_nats=0.2)
    others = frame.head(2).assign(objective="bert")
    first, again = (
        table("mutual_information", rows).where(objective="mt", layer=2).values("mi_nats")
        for rows in (frame, pd.concat([others, frame[::-1]]))
    )
    assert (first == again).all() and first[0, NOISE].std() > 0.1


def test_of_one_block_no_spread_is_known(rng):
    frame = of_runs([1.0, 2.0], 0.5, rng)
    frame[jackknife.WITHOUT] = [np.array([1.0]), np.array([2.0])]
    found = table("change", frame)
    assert found.n_blocks == 1
    assert found.values("distance")[:, 0].tolist() == [1, 2]
    assert np.isnan(found.values("distance")[:, TEXT]).all()


def test_rows_without_a_baseline_have_no_draws_of_it(rng):
    frame = of_runs([0.9, 0.5], 0.05, rng).rename(columns={"distance": "accuracy"})
    # As parquet gives them: positional heads have no baseline.
    frame["baseline_accuracy"] = [np.nan, 0.4]
    frame["baseline_without"] = [None, without([0.4], 0.02, rng)[0]]
    draws = table("head_functions", frame).values("baseline_accuracy")
    assert np.isnan(draws[0]).all()
    assert draws[1, TEXT].std() == pytest.approx(0.02)


def test_values_without_blocks_are_a_mistake(tmp_path):
    path = tmp_path / "change.csv"
    pd.DataFrame({"distance": [1.0], "ci_low": [0.0]}).to_csv(path, index=False)
    with pytest.raises(UserError, match=r"the table change has no column without.*change\.parquet"):
        load([path], {}, {})
    # Gates have no values that hang on text.
    path = tmp_path / "gates.csv"
    pd.DataFrame({"kept": [True]}).to_csv(path, index=False)
    assert load([path], {}, {})["gates"].n_blocks == 0


def test_an_empty_table_has_nothing_measured():
    empty = table("change", pd.DataFrame({"distance": [], "ci_low": [], "without": [], "seed": []}))
    assert empty.values("distance").shape == (0, 1 + 2 * N_DRAWS)
    with pytest.raises(NotMeasuredError, match="seed 1 in the table change"):
        empty.where(seed=1)


def test_several_values_of_a_layer_are_told_apart_by_what_they_are_of(rng):
    """Not by their intervals, which differ, too."""
    frame = pd.DataFrame({"layer": [0, 0], "property": ["tag", "token"], "value": [0.5, 0.6]})
    frame = frame.assign(ci_low=[0.1, 0.2], without=[*rng.random((2, 4))], n=[3, 4])
    line = "several values for one layer of the table mine that differ in property; a claim needs"
    with pytest.raises(UserError, match=line):
        curve(table("mine", frame), "layer", "value")


def test_a_column_that_a_table_lacks_is_a_line(rng):
    frame = pd.DataFrame({"objective": ["lm"], "layer": [0], "value": [1.0], "ci_low": [None]})
    known = table("mine", frame.assign(without=[rng.random(4)]))
    said = "^the table mine has no column {}, .*; allowed: .*; did you mean {}?"
    for ask, typed, meant in (
        (lambda: known.where(objectve="lm"), "objectve", "objective"),
        (lambda: known.values("vlaue"), "vlaue", "value"),
        (lambda: curve(known, "layr", "value"), "layr", "layer"),
        (lambda: select("mine", frame, {"layers": 0}), "layers", "layer"),
    ):
        with pytest.raises(UserError, match=said.format(typed, meant)):
            ask()


def test_a_table_without_any_row_has_no_columns_and_is_not_measured():
    empty = pd.DataFrame(columns=["objective", "seed"])
    known = table("mine", select("mine", empty, {"metric": "cosine"}))
    with pytest.raises(NotMeasuredError, match="objective lm, quantity length in the table mine"):
        known.where(objective="lm", quantity="length")


def test_estimators_are_chosen_or_named(rng, tmp_path):
    frame = of_runs([1.0, 2.0, 3.0], 0.1, rng, n_clusters=[10, 20, 30], seed=1)
    frame.to_parquet(tmp_path / "change.parquet")
    paths = [tmp_path / "change.parquet"]
    one = load(paths, {"change": {"n_clusters": 20}}, {})["change"]
    assert one.values("distance")[:, 0].tolist() == [2]
    two = load(paths, {"change": {"n_clusters": [10, 30]}}, {})["change"]
    assert two.values("distance")[:, 0].tolist() == [1, 3]


def test_an_estimator_that_was_not_measured_leaves_its_table_empty(rng, tmp_path, caplog):
    frame = of_runs([1.0, 2.0], 0.1, rng, matching=["published", "ten_types"], seed=1)
    frame.to_parquet(tmp_path / "change.parquet")
    with caplog.at_level(logging.INFO):
        tables = load([tmp_path / "change.parquet"], {"change": {"matching": "matched"}}, {})
    assert caplog.messages == [
        "left out: no rows with matching matched in change, found published, ten_types"
    ]
    findings, missing = find_all(CLAIMS, tables, {})
    assert not findings and missing.keys() == {claim.name for claim in CLAIMS}


def test_pairs_of_runs_are_of_both_seeds(rng):
    pairs = of_runs([1.0] * 3, 0.1, rng, seed_a=[1, 1, 2], seed_b=[1, 2, 2])
    runs = of_runs([1.0] * 2, 0.1, rng, seed=[2, 3])
    both = {"pairs": table("pairs", pairs), "runs": table("runs", runs)}
    assert seeds(both) == [1, 2, 3]
    assert of_seeds(both, {1})["pairs"].rows.index.tolist() == [0]
    assert of_seeds(both, {1, 2})["pairs"].rows.index.tolist() == [0, 1, 2]
    assert of_seeds(both, {3})["pairs"].rows.empty
    assert of_seeds(both, {3})["runs"].rows.index.tolist() == [1]


def test_degrees_of_freedom_are_those_of_the_blocks_that_a_statistic_depends_on(rng):
    """Documents of the dev split count beside those of the test split."""
    frame = of_runs([1.0, 5.0, 2.0], 0.1, rng)
    others = frame.copy()
    frame["without"] = [
        np.where(np.arange(20) < some, without, value)
        for some, without, value in zip(
            (20, 3, 2), frame["without"], frame["distance"], strict=True
        )
    ]
    both = {
        "change": table("change", frame),
        "head_importance": table("head_importance", others, split="dev"),
    }
    blocks = blocks_of(both)
    assert blocks == {("test", 20), ("dev", 20)}
    values = both["change"].values("distance")
    every, three, two = degrees_of_freedom(values, blocks)
    assert 8 < every <= 19 and 1 <= three <= 2 and two == 1
    [together] = degrees_of_freedom(values[1:2] - values[2:], blocks)
    assert together <= 2
    [apart] = degrees_of_freedom(
        values[:1] + both["head_importance"].values("distance")[:1], blocks
    )
    assert every < apart <= 39


def test_without_blocks_there_is_one_degree_of_freedom():
    draws = np.ones((3, 1 + 2 * N_DRAWS))
    assert degrees_of_freedom(draws, frozenset({("test", 0)})).tolist() == [1, 1, 1]
