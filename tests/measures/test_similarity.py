"""Similarity of views against the published formulas, known answers, and what they must ignore."""

import numpy as np
import pytest
from scipy.stats import rankdata

from bottomup.core.errors import UserError
from bottomup.measures import similarity as measures
from bottomup.measures.jackknife import WITHOUT
from bottomup.measures.null import Permutations
from bottomup.measures.pwcca import canonical_correlations, moments_of
from bottomup.measures.similarity import (
    linear_cka,
    procrustes_distance,
    rsa,
    similarity,
    svcca_distance,
)
from tests.measures.test_pwcca import related, uncorrelated

# Two float64 algorithms on data of condition number up to about 1e3.
ROUNDING = 1e-9


def plain_cka(x, y):
    """Kornblith et al. 2019, section 3, by kernels: HSIC of two views over those of each."""
    n = len(x)
    centering = np.eye(n) - 1 / n

    def hsic(a, b):
        return np.trace(a @ a.T @ centering @ b @ b.T @ centering) / (n - 1) ** 2

    return hsic(x, y) / np.sqrt(hsic(x, x) * hsic(y, y))


def debiased_cka(x, y):
    """Song et al. 2012, equation 5, by kernels with zeros in the diagonals."""
    n = len(x)
    ones = np.ones(n)

    def hsic(a, b):
        k, m = a @ a.T, b @ b.T
        np.fill_diagonal(k, 0)
        np.fill_diagonal(m, 0)
        sums = (ones @ k @ ones) * (ones @ m @ ones) / ((n - 1) * (n - 2))
        total = np.trace(k @ m) + sums - 2 / (n - 2) * (ones @ k @ m @ ones)
        return total / (n * (n - 3))

    return hsic(x, y) / np.sqrt(hsic(x, x) * hsic(y, y))


def by_rotation(x, y):
    """Ding et al. 2021, section 3: the best rotation is U V' of the singular vectors of X'Y."""
    width = max(x.shape[1], y.shape[1])
    a, b = (np.pad(z - z.mean(0), ((0, 0), (0, width - z.shape[1]))) for z in (x, y))
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    u, _, v = np.linalg.svd(a.T @ b)
    return np.linalg.norm(a @ u @ v - b) ** 2


def rotation(d, seed=1):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


@pytest.mark.parametrize(("n", "d_x", "d_y"), [(60, 5, 5), (60, 5, 8), (60, 8, 5), (4, 3, 1)])
@pytest.mark.parametrize("shift", [0, 30])
def test_equals_the_equations_in_both_orders_and_at_unequal_widths(n, d_x, d_y, shift):
    x, y = related(n, d_x, d_y, shift)
    for a, b in ((x, y), (y, x)):
        assert linear_cka(a, b) == pytest.approx(debiased_cka(a, b), abs=ROUNDING)
        assert linear_cka(a, b, debiased=False) == pytest.approx(plain_cka(a, b), abs=ROUNDING)
        assert procrustes_distance(a, b) == pytest.approx(by_rotation(a, b), abs=ROUNDING)


def test_known_covariances_give_the_known_values():
    # x = (2 z_1, z_2) and y = (z_1, 3 e): covariances diag(4, 1), diag(1, 9), and of both 2 alone.
    z, w, e = uncorrelated(100, 3).T
    x, y = np.stack([2 * z, w], axis=1), np.stack([z, 3 * e], axis=1)
    plain = 4 / np.sqrt((16 + 1) * (1 + 81))
    assert linear_cka(x, y, debiased=False) == pytest.approx(plain, abs=ROUNDING)
    assert procrustes_distance(x, y) == pytest.approx(2 - 4 / np.sqrt(5 * 10), abs=ROUNDING)
    # The correlations are 1 and 0; the larger component holds 0.8 of x, 0.9 of y.
    assert svcca_distance(x, y) == pytest.approx(0.5, abs=ROUNDING)
    assert svcca_distance(x, y, variance=0.79) == pytest.approx(1, abs=ROUNDING)
    turned = np.stack([e, 3 * z], axis=1)
    assert svcca_distance(x, turned, variance=0.79) == pytest.approx(0, abs=ROUNDING)


def test_svcca_is_the_mean_correlation_of_the_components_kept():
    x, y = related(300, 6, 9, shift=2)
    parts = []
    for view in (x, y):
        centered = view - view.mean(0)
        _, s, v = np.linalg.svd(centered, full_matrices=False)
        n_kept = 1 + np.flatnonzero(np.cumsum(s**2) / np.sum(s**2) >= 0.9)[0]
        parts.append(centered @ v[:n_kept].T)
    expected = 1 - canonical_correlations(moments_of(*parts)).mean()
    assert svcca_distance(x, y, variance=0.9) == pytest.approx(expected, abs=ROUNDING)
    everything = 1 - canonical_correlations(moments_of(x, y)).mean()
    assert svcca_distance(x, y, variance=1) == pytest.approx(everything, abs=ROUNDING)


def test_a_view_is_itself_however_it_is_turned_moved_or_scaled():
    x, _ = related(200, 6, 6)
    wider = np.concatenate([x, np.zeros((200, 2))], axis=1) @ rotation(8)
    for same in (x, -0.01 * x + 3, x @ rotation(6), wider):
        assert linear_cka(x, same) == pytest.approx(1, abs=ROUNDING)
        assert linear_cka(x, same, debiased=False) == pytest.approx(1, abs=ROUNDING)
        assert procrustes_distance(same, x) == pytest.approx(0, abs=ROUNDING)
        assert svcca_distance(same, x) == pytest.approx(0, abs=ROUNDING)
    assert rsa(x, 2 * x + 3) == pytest.approx(1, abs=ROUNDING)
    assert rsa(x, x[:, ::-1]) == pytest.approx(1, abs=ROUNDING)


def test_svcca_ignores_any_linear_map_where_all_is_kept_and_nothing_else_does():
    x, y = related(200, 6, 9)
    stretched = y @ (rotation(9) * np.geomspace(1, 100, 9))
    whole = svcca_distance(x, y, variance=1)
    assert svcca_distance(x, stretched, variance=1) == pytest.approx(whole, abs=ROUNDING)
    for measure in (svcca_distance, linear_cka, procrustes_distance):
        assert abs(measure(x, stretched) - measure(x, y)) > 0.01


def test_few_samples_of_unrelated_views_are_alike_to_plain_cka_alone():
    found = np.array(
        [
            [linear_cka(x, y), linear_cka(x, y, debiased=False)]
            for x, y in np.random.default_rng(0).normal(size=(20, 2, 30, 200))
        ]
    )
    error = found[:, 0].std(ddof=1) / np.sqrt(20)
    assert abs(found[:, 0].mean()) < 4 * error < 0.05
    assert found[:, 1].min() > 0.8


def test_rsa_is_the_rank_correlation_of_dissimilarities():
    x, y = related(30, 5, 8)
    pairs = np.triu_indices(30, 1)
    ranks = [rankdata(1 - np.corrcoef(view)[pairs]) for view in (x, y)]
    assert rsa(x, y) == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=ROUNDING)
    # Of three rows, those that are most alike in one view are least so in the other.
    a = np.array([[0, 1, 2], [0, 1, 3], [2, 1, 0]])
    assert rsa(a, a[[0, 2, 1]]) < rsa(a, a) == pytest.approx(1)
    unrelated = [rsa(*pair) for pair in np.random.default_rng(0).normal(size=(20, 2, 30, 6))]
    assert abs(np.mean(unrelated)) < 4 * np.std(unrelated, ddof=1) / np.sqrt(20)


def test_rsa_draws_the_same_rows_of_both_views():
    x, y = related(100, 5, 8)
    assert rsa(x, y, n=20) == rsa(x, y, n=20) != rsa(x, y, n=20, seed=2)
    assert rsa(x, 3 * x, n=20) == pytest.approx(1, abs=ROUNDING)
    assert rsa(x, y, n=100) == rsa(x, y)


def test_blocks_of_rows_and_memory_maps_make_no_difference(monkeypatch, tmp_path):
    x, y = related(300, 6, 9, shift=5)
    whole = [measure(x, y) for measure in (linear_cka, procrustes_distance, svcca_distance)]
    np.save(tmp_path / "y.npy", y.astype(np.float32))
    y = np.load(tmp_path / "y.npy", mmap_mode="r")
    for module in ("pwcca", "similarity"):
        monkeypatch.setattr(f"bottomup.measures.{module}.BLOCK_ROWS", 64)
    # float32 has 24 bits, and the mean is a few times as large as what varies.
    found = [measure(x, y) for measure in (linear_cka, procrustes_distance, svcca_distance)]
    assert found == pytest.approx(whole, abs=1e-6)


def test_a_large_mean_costs_no_digits():
    x, y = related(300, 6, 9)
    assert linear_cka(x + 1e4, y - 1e5) == pytest.approx(linear_cka(x, y), abs=ROUNDING)


@pytest.mark.parametrize("shift", [0, 5])
def test_rows_are_of_all_and_without_a_block_of_the_others(shift):
    x, y = related(120, 6, 9, shift)
    blocks = np.arange(120) // 4 % 5
    rows = list(similarity(x, y, blocks, variance=0.9))
    expected = {
        "cka_debiased": linear_cka,
        "cka": lambda x, y: linear_cka(x, y, debiased=False),
        "procrustes_distance": procrustes_distance,
        "svcca_distance": lambda x, y: svcca_distance(x, y, variance=0.9),
        "rsa": rsa,
    }
    assert [row["measure"] for row in rows] == [*expected]
    columns = {"measure", "value", "ci_low", "ci_high", "n_occurrences", "n_needed", WITHOUT}
    for row, measure in zip(rows, expected.values(), strict=True):
        assert set(row) == columns and row["n_occurrences"] == 120
        assert row["value"] == pytest.approx(measure(x, y), abs=ROUNDING)
        assert row["ci_low"] < row["value"] < row["ci_high"]
        others = [measure(x[blocks != number], y[blocks != number]) for number in range(5)]
        np.testing.assert_allclose(row[WITHOUT], others, atol=ROUNDING)


def test_rsa_leaves_blocks_out_of_one_draw():
    x, y = related(120, 6, 9)
    blocks = np.arange(120) % 6
    *_, row = similarity(x, y, blocks, rsa_rows=40, seed=3)
    rows = measures._drawn(x, y, 40, 3)
    assert row["value"] == rsa(x, y, 40, 3) and row["n_occurrences"] == 40
    kept = rows[blocks[rows] != 2]
    assert row[WITHOUT][2] == pytest.approx(rsa(x[kept], y[kept]), abs=ROUNDING)


def test_blocks_that_hold_nothing_or_everything():
    x, y = related(60, 3, 4)
    for row in similarity(x, y, np.where(np.arange(60) % 4 == 3, 2, np.arange(60) % 4)):
        assert np.isfinite(row[WITHOUT]).all() and len(row[WITHOUT]) == 3
    for row in similarity(x, y, np.full(60, 1)):
        np.testing.assert_array_equal(row[WITHOUT], [row["value"]] * 2)
    for row in similarity(x, y, np.zeros(60, dtype=int)):
        assert np.isnan(row["ci_low"]) and np.isfinite(row["value"])


def test_the_error_is_that_of_drawing_the_text_anew():
    generator = np.random.default_rng(0)
    values, errors = [], []
    for _ in range(40):
        x = generator.normal(size=(200, 3)) * [3, 2, 1]
        y = x + generator.normal(size=(200, 3))
        rows = list(similarity(x, y, np.arange(200) % 10, rsa_rows=40))
        values.append([row["value"] for row in rows])
        errors.append([9 * row[WITHOUT].var() for row in rows])
    ratios = np.sqrt(np.mean(errors, axis=0)) / np.std(values, axis=0)
    # 40 values give their own standard deviation to 1 / sqrt(80), that is 11 %: 4 of these.
    assert ratios == pytest.approx(np.ones(5), abs=0.44)


def test_too_few_occurrences_for_svcca_are_warned_of_once(caplog):
    x, y = np.random.default_rng(0).normal(size=(2, 20, 30))
    assert svcca_distance(x, y, variance=1) == pytest.approx(0, abs=ROUNDING)
    assert "components on 20 occurrences: too few" in caplog.text
    caplog.clear()
    rows = {row["measure"]: row for row in similarity(x, y, np.arange(20) % 4)}
    for message in ("Procrustes distance of 30 and 30 neurons", "SVCCA of 18 and 17 components"):
        assert caplog.text.count(f"{message} on 20 occurrences: too few") == 1
    missing = {name for name, row in rows.items() if np.isnan(row["value"])}
    assert missing == {"cka", "procrustes_distance", "svcca_distance"}
    needed = {name: row["n_needed"] for name, row in rows.items()}
    assert needed == {
        **{"cka_debiased": 4, "rsa": 3, "cka": 120, "procrustes_distance": 120},
        "svcca_distance": needed["svcca_distance"],
    }


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_so_few_occurrences_have_only_what_is_defined_for_them(n):
    x, y = related(n, 3, 3)
    found = [np.isfinite(row["value"]) for row in similarity(x, y, np.arange(n))]
    assert found == [n > 3, False, False, False, n > 2]


def test_a_block_that_holds_all_that_varies_leaves_values_without_intervals():
    x, y = related(200, 3, 3)
    x[10:] = x[0]
    blocks = np.arange(200) // 10
    for row in [*similarity(x, y, blocks), measures.debiased_cka(x, y, blocks, 20)]:
        if row["measure"] != "rsa":
            assert np.isfinite(row["value"]) and np.isnan(row["ci_low"])
            assert np.isnan(row[WITHOUT]).tolist() == [True] + 19 * [False]


def test_what_is_not_defined_has_no_value_and_costs_the_others_none(caplog):
    x, y = related(100, 3, 3)
    constant, blocks = np.full((100, 3), 0.1), np.arange(100) % 4
    null = Permutations(3, seed=1)
    found = [row["value"] for row in similarity(constant, y, blocks, permutations=null)]
    assert np.isnan(found).all()
    assert caplog.text.count("does not vary") == 5
    x[3] = 0  # one row without a direction
    found = [row["value"] for row in similarity(x, y, blocks, permutations=null)]
    assert np.isfinite(found).tolist() == 4 * [True] + [False]


def test_views_that_cannot_be_compared_are_refused():
    x, y = related(100, 4, 4)
    for measure in (linear_cka, procrustes_distance, svcca_distance, rsa):
        with pytest.raises(UserError, match="100 and 99 occurrences"):
            measure(x, y[:-1])
        with pytest.raises(UserError, match="NaN or infinity") as error:
            measure(x, np.where(y > 2, np.inf, y))
        assert "\n" not in str(error.value)
    with pytest.raises(UserError, match="100 and 99 occurrences"):
        next(similarity(x, y[:-1], np.zeros(100, dtype=int)))
    for measure in (linear_cka, procrustes_distance, svcca_distance):
        with pytest.raises(UserError, match="same at all occurrences"):
            measure(np.full((100, 4), 0.1), y)
        with pytest.raises(UserError, match="occurrences in a view: 1; allowed: at least"):
            measure(x[:1], y[:1])
    with pytest.raises(UserError, match="occurrences in a view: 3; allowed: at least 4"):
        linear_cka(x[:3], y[:3])
    with pytest.raises(UserError, match="no two of 4 occurrences are more alike"):
        linear_cka(np.eye(4), y[:4])
    with pytest.raises(UserError, match=r"variance 1.5; allowed: above 0, at most 1"):
        svcca_distance(x, y, variance=1.5)
    with pytest.raises(UserError, match="n: found 0; allowed: at least 1"):
        rsa(x, y, n=0)
    with pytest.raises(UserError, match="same value in all neurons"):
        rsa(np.full((100, 4), 0.1), y)
    with pytest.raises(UserError, match="all pairs of 2 occurrences are equally dissimilar"):
        rsa(x[:2], y[:2])
