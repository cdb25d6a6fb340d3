"""PWCCA against its definition, known answers, and what it must not depend on."""

import numpy as np
import pytest
from scipy.linalg import hadamard

from bottomup.core.errors import UserError
from bottomup.measures.pwcca import (
    canonical_correlations,
    distances,
    kinds_of,
    moments_of,
    pwcca_distance,
)

VARIANTS = ["definition", "svcca-2019"]
# Two float64 algorithms on data of condition number up to about 1e3.
ROUNDING = 1e-9


def directly(x, y, variant):
    """PWCCA as its equations stand, from the data: the definition, or what svcca makes of it."""
    mean = x.mean(0)
    a, b = x - mean, y - y.mean(0)

    def inverse_root(z):
        values, vectors = np.linalg.eigh(z.T @ z)
        inverse = np.where(values > 1e-10 * values.max(), 1 / np.sqrt(np.abs(values)), 0)
        return vectors * inverse @ vectors.T

    u, rho, _ = np.linalg.svd(inverse_root(a) @ (a.T @ b) @ inverse_root(b))
    rank = min(np.linalg.matrix_rank(a), np.linalg.matrix_rank(b))
    u, rho = u[:, :rank], rho[:rank]
    if variant == "definition":
        alpha = np.abs((a @ inverse_root(a) @ u).T @ a).sum(1)
    else:
        q, _ = np.linalg.qr(a @ u + mean[:rank])
        alpha = np.abs(q.T @ x).sum(1)
    return 1 - (alpha * rho).sum() / alpha.sum()


def related(n, d_x, d_y, shift=0.0, noise=1.0, seed=0):
    """Two anisotropic views of one Gaussian, with noise in the second."""
    generator = np.random.default_rng(seed)
    common = generator.normal(size=(n, max(d_x, d_y)))
    x = common[:, :d_x] @ generator.normal(size=(d_x, d_x)) + shift * generator.normal(size=d_x)
    noisy = common[:, :d_y] + noise * generator.normal(size=(n, d_y))
    y = noisy @ generator.normal(size=(d_y, d_y)) + shift * generator.normal(size=d_y)
    return x, y


def uncorrelated(n, d, seed=0):
    """Columns of mean 0, variance 1 and correlation 0, exactly: `[n, d]`."""
    draws = np.random.default_rng(seed).normal(size=(n, d))
    q, _ = np.linalg.qr(draws - draws.mean(0))
    return q * np.sqrt(n)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("d_x", "d_y"), [(7, 7), (7, 12), (12, 7), (1, 4), (64, 64)])
@pytest.mark.parametrize("shift", [0, 3])
def test_equals_the_equations_in_both_orders_and_at_unequal_widths(variant, d_x, d_y, shift):
    x, y = related(1000, d_x, d_y, shift)
    for weights, views in (("x", (x, y)), ("y", (y, x))):
        distance = pwcca_distance(x, y, variant, weights)
        assert distance == pytest.approx(directly(*views, variant), abs=ROUNDING)
        assert distance == pytest.approx(pwcca_distance(*views, variant), abs=ROUNDING)


def test_known_correlations_and_weights_give_the_known_distance():
    # x_i = s_i z_i and y_i = rho_i z_i + sqrt(1 - rho_i^2) e_i: the variates are the z_i, so
    # alpha_i is s_i, the covariance of z_i with x_i, all others being 0.
    s, rho = np.array([5.0, 2.0, 1.0, 0.1]), np.array([0.3, 0.9, 0.5, 0.7])
    z, e = np.split(uncorrelated(100, 8), 2, axis=1)
    x, y = s * z, rho * z + np.sqrt(1 - rho**2) * e
    np.testing.assert_allclose(canonical_correlations(moments_of(x, y)), np.sort(rho)[::-1])
    assert pwcca_distance(x, y) == pytest.approx(1 - s @ rho / s.sum(), abs=ROUNDING)
    # y has variance 1 everywhere: its weights are equal.
    assert pwcca_distance(x, y, weights="y") == pytest.approx(1 - rho.mean(), abs=ROUNDING)


def test_sampled_gaussians_give_the_distance_of_their_distribution():
    s, rho = np.array([5.0, 2.0, 1.0]), np.array([0.3, 0.9, 0.6])
    z, e = np.random.default_rng(0).normal(size=(2, 100_000, 3))
    distance = pwcca_distance(s * z, rho * z + np.sqrt(1 - rho**2) * e)
    # The error of a correlation is at most 1 / sqrt(n), that of a weight (a covariance) is
    # s / sqrt(n) and, through |.|, leaks in from the other neurons: of order 1 / sqrt(n) in all.
    assert distance == pytest.approx(1 - s @ rho / s.sum(), abs=4 / np.sqrt(100_000))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_view_is_at_distance_0_from_itself_and_from_its_linear_maps(variant):
    x, _ = related(500, 6, 6, shift=1)
    wider = x @ np.random.default_rng(1).normal(size=(6, 9)) + 2
    for y in (x, wider):
        assert pwcca_distance(x, y, variant) == pytest.approx(0, abs=ROUNDING)
        assert pwcca_distance(y, x, variant) == pytest.approx(0, abs=ROUNDING)


def test_unrelated_views_are_short_of_1_by_a_bias_that_is_known():
    n, d_x, d_y = 4000, 20, 30
    x, y = np.split(np.random.default_rng(0).normal(size=(n, d_x + d_y)), [d_x], axis=1)
    squares = canonical_correlations(moments_of(x, y)) ** 2
    # Pillai's trace under independence: mean d_x d_y / (n - 1), variance about 2 d_x d_y / n^2.
    expected, deviation = d_x * d_y / (n - 1), np.sqrt(2 * d_x * d_y) / n
    assert squares.sum() == pytest.approx(expected, abs=4 * deviation)
    # No weighting can leave the range of the correlations, (sqrt(d_x) + sqrt(d_y)) / sqrt(n).
    assert 1 > pwcca_distance(x, y) > 1 - 1.1 * (np.sqrt(d_x) + np.sqrt(d_y)) / np.sqrt(n)


def test_the_definition_ignores_shift_scale_order_and_sign_of_the_weighting_view():
    x, y = related(800, 6, 9, shift=2)
    signs = np.array([1, -1, -1, 1, 1, -1])
    for changed in (x + 3, 100 * x, x[:, ::-1], signs * x):
        assert pwcca_distance(changed, y) == pytest.approx(pwcca_distance(x, y), abs=ROUNDING)


def test_the_definition_depends_on_the_basis_of_the_weighting_view():
    # For x = R z with a rotation R, alpha_i = sum_j |R_ji|: 1 for the axis, sqrt(2) for a column
    # of a turn by 45 degrees. Only signed permutations keep all L1 norms of columns.
    z, e = np.split(uncorrelated(100, 6), 2, axis=1)
    rho = np.array([0.9, 0.5, 0.1])
    y = rho * z + np.sqrt(1 - rho**2) * e
    rotation = np.array([[1, 0, 0], [0, 1, -1], [0, 1, 1]]) / [[1], [np.sqrt(2)], [np.sqrt(2)]]
    weights = np.array([1, np.sqrt(2), np.sqrt(2)])
    assert pwcca_distance(z, y) == pytest.approx(0.5, abs=ROUNDING)
    assert pwcca_distance(z @ rotation.T, y) == pytest.approx(
        1 - weights @ rho / weights.sum(), abs=ROUNDING
    )


def test_the_variants_agree_on_white_views_and_part_where_one_has_a_mean():
    z, e = np.split(uncorrelated(300, 10), 2, axis=1)
    y = z + e @ np.diag([0.1, 0.5, 1, 2, 4])
    same = pwcca_distance(z, y)
    assert pwcca_distance(z, y, "svcca-2019") == pytest.approx(same, abs=ROUNDING)
    assert pwcca_distance(z + 3, y) == pytest.approx(same, abs=ROUNDING)
    assert abs(pwcca_distance(z + 3, y, "svcca-2019") - same) > 1e-3
    assert pwcca_distance(z, y + 3, "svcca-2019") == pytest.approx(same, abs=ROUNDING)


def test_a_duplicated_neuron_adds_its_weight_and_nothing_else():
    x, y = related(500, 5, 8)
    duplicated = np.concatenate([x, x[:, :1]], axis=1)
    np.testing.assert_allclose(
        canonical_correlations(moments_of(duplicated, y)),
        canonical_correlations(moments_of(x, y)),
        atol=ROUNDING,
    )
    assert pwcca_distance(y, duplicated) == pytest.approx(pwcca_distance(y, x), abs=ROUNDING)
    for variant in VARIANTS:
        assert pwcca_distance(duplicated, y, variant) == pytest.approx(
            directly(duplicated, y, variant), abs=ROUNDING
        )


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_constant_neuron_changes_nothing_in_the_definition_and_breaks_nothing(variant):
    x, y = related(500, 5, 8)
    with_constant = np.concatenate([x, np.full((500, 1), 1e3)], axis=1)
    assert pwcca_distance(y, with_constant, variant) == pytest.approx(
        pwcca_distance(y, x, variant), abs=ROUNDING
    )
    assert 0 <= pwcca_distance(with_constant, y, variant) <= 1
    if variant == "definition":
        assert pwcca_distance(with_constant, y) == pytest.approx(pwcca_distance(x, y), abs=ROUNDING)


def test_uncorrelated_views_with_a_doubled_neuron_are_at_distance_1():
    """Five orthogonal columns of signs, of which one stands twice in a view."""
    h = hadamard(8)[:, 1:6].astype(float)
    x, y = h[:, [0, 0, 1]], h[:, [2, 3, 4]]
    for variant in ("definition", "svcca-2019"):
        assert pwcca_distance(x, y, variant) == pytest.approx(1, abs=1e-7)


def test_with_fewer_points_than_neurons_all_views_coincide_and_a_warning_says_so(caplog):
    x, y = np.random.default_rng(0).normal(size=(2, 20, 30))
    assert pwcca_distance(x, y) == pytest.approx(0, abs=ROUNDING)
    assert "30 and 30 neurons on 20 occurrences: too few" in caplog.text


def test_blocks_of_rows_make_no_difference(monkeypatch):
    x, y = related(1000, 6, 9)
    whole = pwcca_distance(x, y)
    monkeypatch.setattr("bottomup.measures.pwcca.BLOCK_ROWS", 64)
    assert pwcca_distance(x, y) == pytest.approx(whole, abs=ROUNDING)


def test_all_kinds_at_once_are_each_alone():
    x, y = related(500, 5, 5, shift=1)
    kinds = kinds_of(VARIANTS)
    assert kinds == [("definition", "x"), ("definition", "y"), ("svcca-2019", "x")]
    found = distances(moments_of(x, y), kinds)
    assert found == pytest.approx([pwcca_distance(x, y, *kind) for kind in kinds], abs=ROUNDING)
    assert found[::-1] == pytest.approx(distances(moments_of(x, y), kinds[::-1]), abs=0)


@pytest.mark.parametrize("shift", [0, 3])
def test_cholesky_and_spectrum_agree(monkeypatch, shift):
    moments = moments_of(*related(1000, 7, 12, shift))
    kinds = kinds_of(["definition"])
    by_cholesky = distances(moments, kinds)
    monkeypatch.setattr("bottomup.measures.pwcca.SAFE", np.inf)
    assert distances(moments, kinds) == pytest.approx(by_cholesky, abs=ROUNDING)


@pytest.mark.parametrize("noise", [0, 1e-3, 1e-2, 1e-1])
def test_a_neuron_that_others_nearly_tell_breaks_nothing(noise):
    """On both sides of the limits: of Cholesky, and of what varies at all."""
    x, y = related(500, 5, 8)
    extra = x[:, :1] + x[:, 1:2] + noise * np.random.default_rng(1).normal(size=(500, 1))
    wider = np.concatenate([x, extra], axis=1)
    for views in ((wider, y), (y, wider)):
        assert pwcca_distance(*views) == pytest.approx(directly(*views, "definition"), abs=1e-7)


def test_views_that_cannot_be_compared_are_refused():
    x, y = related(100, 4, 4)
    with pytest.raises(UserError, match="100 and 99 occurrences"):
        pwcca_distance(x, y[:-1])
    with pytest.raises(UserError, match="NaN or infinity"):
        pwcca_distance(x, np.where(y > 2, np.inf, y))
    with pytest.raises(UserError, match="same at all occurrences"):
        pwcca_distance(np.full((100, 4), 0.1), y)
    with pytest.raises(UserError, match=r"'svcca' .* definition or svcca-2019"):
        pwcca_distance(x, y, "svcca")
    with pytest.raises(UserError, match="weights 'both'"):
        pwcca_distance(x, y, weights="both")
