"""The null of similarity: what the permutations are, and what a calibrated value and p say."""

import importlib
import itertools
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

from bottomup.core.errors import UserError
from bottomup.core.settings import Null
from bottomup.corpus.specials import N_SPECIAL
from bottomup.measures import neighbors
from bottomup.measures.null import COLUMNS, PERMUTED, Permutations, Permuted, calibrated
from bottomup.measures.pairs import pwcca_rows
from bottomup.measures.pwcca import pwcca_distance
from bottomup.measures.similarity import (
    linear_cka,
    procrustes_distance,
    rsa,
    similarity,
    svcca_distance,
)
from bottomup.views.seen import Seen

# Sums of some hundred products of float64.
ROUNDING = 1e-9
MEASURES = ["pwcca", "cka_debiased", "cka", "procrustes_distance", "svcca_distance", "rsa"]


def centered(view):
    return lambda rows: view[rows] - view.mean(0)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def rows_of(layers, others, permutations, rsa_rows=1000):
    """Calibrated rows of every measure of these pairs of views, by measure a list by layer."""
    found = []
    for layer, (x, y) in enumerate(zip(layers, others, strict=True)):
        blocks = np.arange(len(x)) % 4
        [pwcca, *_] = pwcca_rows(x, y, blocks, ["definition"], permutations)
        rows = similarity(x, y, blocks, rsa_rows=rsa_rows, permutations=permutations)
        found += [{"layer": layer, "measure": "pwcca", **pwcca}]
        found += [{"layer": layer, **row} for row in rows]
    by_measure = {}
    for row in calibrated(found, ["measure"]):
        by_measure.setdefault(row["measure"], []).append(row)
    assert list(by_measure) == MEASURES
    return by_measure


@pytest.mark.parametrize("n", [3, 8, 29, 80])
def test_permutations_with_the_identity_are_a_group_and_move_all_rows_but_a_rest(n):
    found = [np.arange(n), *Permutations(7, 1).of(n)]
    assert len(found) == 8
    lines = n - n % 8
    moved = found[1] != found[0]
    for permutation in found[1:]:
        assert sorted(permutation) == list(range(n))
        assert (permutation != found[0]).sum() >= lines == moved.sum() // 8 * 8
    if n == lines:
        group = {tuple(permutation) for permutation in found}
        products = {tuple(a[b]) for a, b in itertools.product(found, found)}
        assert len(group) == 8 and products == group


def test_any_row_comes_to_any_other_place_equally_often():
    counts = np.zeros((6, 6))
    for seed in range(300):
        for permutation in Permutations(3, seed).of(6):
            counts[np.arange(6), permutation] += 1
    # 900 permutations, in which a row of a line (2/3 of them) stays never, another (1/3) in half.
    assert counts.sum() == 5400 and np.diag(counts) == pytest.approx(150, abs=60)
    elsewhere = counts[~np.eye(6, dtype=bool)]
    assert elsewhere == pytest.approx(150, abs=60)


@pytest.mark.parametrize(("n", "count"), [(3, 7), (64, 7), (83, 7), (200, 1), (300, 31)])
def test_covariances_are_those_of_the_permuted_rows(n, count, monkeypatch):
    monkeypatch.setattr("bottomup.measures.null.BLOCK_ROWS", 16)
    x, y, permutations = normal(n, 3), normal(n, 5, seed=1) + 2, Permutations(count, 4)
    found = permutations.covariances(centered(x), centered(y), n)
    assert found.shape == (count, 3, 5)
    for covariance, rows in zip(found, permutations.of(n), strict=True):
        expected = np.cov(x.T, y[rows].T, bias=True)[:3, 3:]
        np.testing.assert_allclose(covariance, expected, atol=ROUNDING)


def test_covariances_are_in_memory_once():
    """With 1,023 permutations at width 1,024 they take 8.6 GB."""
    view = np.random.default_rng(0).normal(size=(300, 40))
    tracemalloc.start()
    found = Permutations(127, seed=1).covariances(view.__getitem__, view.__getitem__, 300)
    peak = tracemalloc.get_traced_memory()[1]  # of NumPy; PyTorch has the sums
    tracemalloc.stop()
    assert peak < found.nbytes / 2


def test_every_measure_has_its_values_on_the_permuted_rows():
    x, y = normal(150, 4), normal(150, 6, seed=1)
    y[:, :4] += x
    permutations, blocks = Permutations(7, 3), np.arange(150) % 4
    orders = list(permutations.of(150))
    measures = {
        "cka_debiased": linear_cka,
        "cka": lambda x, y: linear_cka(x, y, debiased=False),
        "procrustes_distance": procrustes_distance,
        "svcca_distance": lambda x, y: svcca_distance(x, y, variance=0.8),
        "rsa": rsa,
    }
    rows = {
        row["measure"]: row
        for row in similarity(x, y, blocks, variance=0.8, permutations=permutations)
    }
    for name, measure in measures.items():
        expected = [measure(x, y[order]) for order in orders]
        np.testing.assert_allclose(rows[name][PERMUTED].values, expected, atol=ROUNDING)
    kinds = ["definition", "svcca-2019"]
    for row in pwcca_rows(x, y, blocks, kinds, permutations):
        kind = row["variant"], row["weights"]
        expected = [pwcca_distance(x, y[order], *kind) for order in orders]
        np.testing.assert_allclose(row[PERMUTED].values, expected, atol=ROUNDING)


def test_a_small_case_by_hand():
    # 20 values with the identity: the null is the second most alike, as 1 of 20 is a twentieth.
    alike = {PERMUTED: Permuted(0.9, np.array([0.5, 0.3, *[0.1] * 17]), same=1)}
    [row] = calibrated([alike], [])
    assert row["null"] == 0.5 and row["calibrated"] == pytest.approx(0.8)  # (0.9 - 0.5) / (1 - 0.5)
    assert row["p"] == row["p_layers"] == 1 / 20
    # As a distance, and in the middle of the null: three of the permuted are as near.
    far = {PERMUTED: Permuted(0.6, np.array([0.4, 0.5, 0.6, *[0.9] * 16]), same=0)}
    [row] = calibrated([far], [])
    assert row["null"] == 0.5 and row["calibrated"] == 0 and row["p"] == 4 / 20


def test_layers_of_a_family_have_the_null_of_the_most_alike():
    # Under the first permutation layer 0 is at .8, under the second layer 1 at .7.
    values = {0: (0.75, [0.8, 0.1, 0.2]), 1: (0.65, [0.1, 0.7, 0.2]), 2: (0.85, [0.3, 0.3, 0.3])}
    rows = [
        {"measure": measure, "layer": layer, PERMUTED: Permuted(value, np.array(permuted), 1)}
        for measure in "ab"
        for layer, (value, permuted) in values.items()
        if measure == "a" or layer == 1
    ]
    found = {(row["measure"], row["layer"]): row for row in calibrated(rows, ["measure"])}
    assert [found["a", layer]["p"] for layer in range(3)] == [2 / 4, 2 / 4, 1 / 4]
    assert [found["a", layer]["p_layers"] for layer in range(3)] == [2 / 4, 3 / 4, 1 / 4]
    assert found["b", 1]["p_layers"] == 2 / 4


def test_all_layers_and_measures_are_permuted_together():
    x, y = normal(100, 3), normal(100, 3, seed=1)
    rows = rows_of([x, x, 2 * x + 1], [y, y, y], Permutations(15, 2))
    for measure, (first, second, scaled) in rows.items():
        for name in COLUMNS:
            assert first[name] == second[name], measure
            assert scaled[name] == pytest.approx(first[name], abs=ROUNDING), measure
        # Of layers that are the same, any is as alike as the most alike.
        assert first["p_layers"] == first["p"]


def test_equal_views_are_alike_to_the_full_and_nothing_is_as_much():
    x = normal(200, 5)
    for measure, [row] in rows_of([x], [x], Permutations(31, 1)).items():
        assert row["calibrated"] == pytest.approx(1, abs=1e-6), measure
        assert row["p"] == row["p_layers"] == 1 / 32, measure


@pytest.mark.long
def test_unrelated_views_are_at_zero_with_any_p_equally_often():
    """Also where few rows for the neurons make most measures high: 4 for each."""
    found = {measure: [] for measure in MEASURES}
    for seed in range(80):
        x, y = normal(2, 32, 8, seed=seed)
        for measure, [row] in rows_of([x], [y], Permutations(31, seed)).items():
            value = row.get("distance", row.get("value"))
            found[measure].append((row["p"], row["calibrated"], value))
    for measure, rows in found.items():
        p, share = np.array(rows).T[:2]
        # Spread over the width of a step, p is uniform.
        draw = np.random.default_rng(1).uniform(size=len(p)) / 32
        assert kstest(p - draw, "uniform").pvalue > 0.001, measure
        assert (p <= 2 / 32).mean() < 0.2
        assert share.mean() < 0.01 and (share == 0).mean() > 0.85, measure
    # Uncalibrated, these views share much: of four rows for each neuron PWCCA's distance is .57.
    assert np.mean([value for _, _, value in found["pwcca"]]) < 0.65
    assert np.mean([value for _, _, value in found["cka"]]) > 0.15


def test_related_views_are_calibrated_below_what_they_seem():
    x = normal(64, 8)
    y = x + normal(64, 8, seed=1)
    for measure, [row] in rows_of([x], [y], Permutations(63, 1)).items():
        value = row.get("distance", row.get("value"))
        plain = value if measure in ("cka", "cka_debiased", "rsa") else 1 - value / 2
        assert 0 < row["calibrated"] < plain and row["p"] == 1 / 64, measure


def test_what_has_no_value_has_no_null():
    x, y = normal(2, 20, 30)
    rows = rows_of([x, *normal(1, 200, 30)], [y, *normal(1, 200, 30, seed=1)], Permutations(7, 1))
    for measure in ("pwcca", "cka", "procrustes_distance", "svcca_distance"):
        few, enough = rows[measure]
        assert all(np.isnan(few[name]) for name in COLUMNS)
        assert all(np.isfinite(enough[name]) for name in COLUMNS)
        # A layer without a value has no part in the family.
        assert enough["p_layers"] == enough["p"]
    for measure in ("cka_debiased", "rsa"):
        assert all(np.isfinite(row[name]) for row in rows[measure] for name in COLUMNS)


def test_rows_without_permutations_stay_as_they_are():
    rows = list(similarity(*normal(2, 20, 3), np.arange(20) % 4))
    assert calibrated(rows, ["measure"]) == rows


@pytest.mark.parametrize("count", [0, 2, 64])
def test_permutations_that_are_no_group_are_refused(count):
    with pytest.raises(UserError, match=f"{count} permutations; allowed: one less than a power"):
        Permutations(count, 1)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_neighbors_are_those_of_the_places_with_other_occurrences_in_them(metric):
    view, draw = normal(40, 3), np.random.default_rng(1)
    rows = draw.permutation(40).reshape(2, 20)
    values = {"left_token": draw.integers(3, size=(2, 20)), "position": draw.permutation(rows)}
    sample = neighbors.Sample(rows, values, np.repeat([[4], [5]], 20, axis=1))
    permutations = Permutations(7, 3)
    found = neighbors.estimates(view, sample, np.arange(40) % 4, 5, "cpu", metric, permutations)
    orders = [rows[:, order] for order in permutations.of(20)]
    for row in found:
        of_rows = np.empty(40)
        of_rows[rows] = values[row["property"]]
        expected = []
        for places in orders:  # the values move, the view stays
            moved = neighbors.Sample(rows, {row["property"]: of_rows[places]}, sample.tokens)
            expected.append(
                neighbors.measure(view, moved, 5, "cpu", metric)[row["property"]].mean()
            )
        np.testing.assert_allclose(row[PERMUTED].values, expected, atol=ROUNDING)
        assert row[PERMUTED].value == row["value"]
        assert row[PERMUTED].same == (0 if row["property"] == "position" else 1)


def test_neighbors_that_share_nothing_are_at_zero_and_those_that_share_all_at_one():
    tokens = np.repeat(np.arange(4), 16)[None]
    sample = neighbors.Sample(np.arange(64)[None], {"token": tokens}, tokens)
    views = {"all": 10 * np.eye(4)[tokens[0]] + normal(64, 4), "nothing": normal(64, 4)}
    found = {}
    for name, view in views.items():
        permutations = Permutations(63, 1)
        rows = neighbors.estimates(
            view, sample, np.arange(64) % 4, 5, "cpu", permutations=permutations
        )
        [found[name]] = calibrated(rows, ["property"])
    assert found["all"]["calibrated"] == 1 and found["all"]["p"] == 1 / 64
    assert found["nothing"]["calibrated"] < 0.05 < found["nothing"]["p"]
    # Of 63 others 15 are of the same token; the null is above their share.
    assert 15 / 63 < found["nothing"]["null"] < 0.4


def test_a_family_is_the_layers_of_one_measure():
    """Where all layers are the same one, the most alike is as alike as any."""
    draw = np.random.default_rng(0)
    n, tokens = 240, np.arange(240) % 4 + N_SPECIAL
    occurrences = pd.DataFrame(
        {
            **{"input_id": tokens, "rank": tokens, "block": np.arange(n) % 5},
            **{"stands_for_word": True, "position": draw.integers(20, size=n)},
            **{"left_id": draw.integers(3, size=n), "right_id": draw.integers(3, size=n)},
        }
    )
    one, other = (np.stack(2 * [normal(n, 4, seed=seed)]) for seed in (0, 1))
    step = np.stack([one[0], other[0]])
    null = Null(permutations=255, seed=1)
    sizes = {"tokens": 4, "occurrences": 30, "within_tokens": 4, "within_occurrences": 30}
    for name, views, options in (
        ("pwcca_between_runs", (one, other), {"variants": ["definition", "svcca-2019"]}),
        ("pwcca_between_layers", (step,), {"variants": ["definition", "svcca-2019"]}),
        ("similarity_between_runs", (one, other), {"variance": 1, "rsa_rows": 90, "seed": 1}),
        ("neighbors", (one,), {"k": 5, "seed": 1, **sizes}),
    ):
        table = importlib.import_module(f"bottomup.tables.{name}")
        seen = Seen(occurrences, *views, null=null)
        rows = list(table.rows(seen, table.Settings(**options)))
        assert len({row["p"] for row in rows}) > 1, name
        assert [row["p_layers"] for row in rows] == [row["p"] for row in rows], name
        assert table.TABLE.null
