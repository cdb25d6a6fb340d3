"""Streaming second moments against numpy on all rows at once."""

import warnings

import numpy as np
import pytest
import torch

from bottomup.core.errors import UserError
from bottomup.views.moments import Moments, merged

D_X, D_Y = 3, 5


@pytest.fixture
def rows():
    generator = np.random.default_rng(0)
    mixed = generator.normal(size=(200, D_X + D_Y)) @ generator.normal(size=(D_X + D_Y, D_X + D_Y))
    mixed += generator.normal(size=D_X + D_Y)
    return mixed[:, :D_X], mixed[:, D_X:]


def moments(*blocks):
    gathered = Moments(D_X, D_Y)
    for x, y in blocks:
        gathered.update(x, y)
    return gathered


def assert_equal(one, other):
    assert one.n == other.n
    for name in ("mean_x", "mean_y", "xx", "xy", "yy"):
        # Rounding of 200 sums in float64.
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=1e-12)


def test_moments_are_those_of_numpy(rows):
    gathered = moments(rows)
    covariance = np.cov(*rows, rowvar=False, bias=True)
    np.testing.assert_allclose(gathered.mean_x, rows[0].mean(0), atol=1e-13)
    np.testing.assert_allclose(gathered.mean_y, rows[1].mean(0), atol=1e-13)
    np.testing.assert_allclose(gathered.xx, covariance[:D_X, :D_X], atol=1e-12)
    np.testing.assert_allclose(gathered.xy, covariance[:D_X, D_X:], atol=1e-12)
    np.testing.assert_allclose(gathered.yy, covariance[D_X:, D_X:], atol=1e-12)


@pytest.mark.parametrize("cuts", [[100], [1, 2, 3], [0, 7, 7, 199, 200], list(range(200))])
def test_any_split_into_blocks_gives_the_moments_of_one_pass(rows, cuts):
    blocks = list(zip(*(np.split(side, cuts) for side in rows), strict=True))
    assert_equal(moments(*blocks), moments(rows))


@pytest.mark.parametrize("cut", [0, 1, 60, 200])
def test_merging_parts_gives_the_moments_of_one_pass_in_either_order(rows, cut):
    x, y = rows
    for order in (1, -1):
        first, second = [moments((x[:cut], y[:cut])), moments((x[cut:], y[cut:]))][::order]
        first.merge(second)
        assert_equal(first, moments(rows))


def test_merged_parts_give_the_moments_of_all_and_stay_as_they_were(rows):
    parts = list(zip(*(np.split(side, [20, 20, 90]) for side in rows), strict=True))
    gathered = [moments(part) for part in parts]  # the second part is empty
    assert_equal(merged(gathered), moments(rows))
    for found, part in zip(gathered, parts, strict=True):
        assert_equal(found, moments(part))


def test_without_some_rows_the_moments_are_those_of_the_others(rows):
    whole = moments(rows)
    for gone in (slice(0, 0), slice(0, 20), slice(20, 199)):
        part = moments([side[gone] for side in rows])
        rest = moments([np.delete(side, gone, axis=0) for side in rows])
        assert_equal(whole.without(part), rest)
    assert_equal(whole, moments(rows))


def test_a_neuron_that_varies_only_in_the_rows_that_go_is_left_constant(rows):
    x, y = (side.copy() for side in rows)
    x[:50, 0] *= 1e6
    x[50:, 0] = 0
    left = moments((x, y)).without(moments((x[:50], y[:50])))
    assert abs(left.xx[0, 0]) < 1e-12 * moments((x, y)).xx[0, 0]
    np.testing.assert_allclose(left.xx[1:, 1:], moments((x[50:], y[50:])).xx[1:, 1:], atol=1e-12)


def test_a_large_mean_costs_no_digits(rows):
    x, y = rows
    # Not multiples of 1e8: sums of squares about 0 would keep no digit of a variance of 1.
    shifted = moments(*((x[i : i + 7] + 1e8, y[i : i + 7] - 1e8) for i in range(0, 200, 7)))
    np.testing.assert_allclose(shifted.xx, moments(rows).xx, atol=1e-5)


def test_swapped_moments_are_those_of_the_other_order(rows):
    x, y = rows
    other = Moments(D_Y, D_X)
    other.update(y, x)
    assert_equal(moments(rows).swapped(), other)


def test_a_float16_view_is_read_through_a_memory_map(rows, tmp_path):
    for name, side in zip("xy", rows, strict=True):
        np.save(tmp_path / f"{name}.npy", side.astype(np.float16))
    views = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "xy"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gathered = moments(views)
    assert_equal(gathered, moments([view.astype(np.float64) for view in views]))


@pytest.mark.parametrize("dtype", [">f4", np.longdouble, np.int16, bool])
def test_real_numbers_of_any_format_are_read(dtype):
    view = (10 * np.random.default_rng(0).normal(size=(50, 3))).astype(dtype)
    moments = Moments(3, 3)
    moments.update(view, torch.ones(50, 3, requires_grad=True))
    np.testing.assert_allclose(moments.xx, np.cov(view.astype(float).T, bias=True), atol=1e-12)


def test_views_of_other_occurrences_or_widths_are_refused(rows):
    x, y = rows
    with pytest.raises(UserError, match="two views of 200 and 199 occurrences"):
        moments((x, y[:-1]))
    with pytest.raises(UserError, match="views of width 5 and 3"):
        moments((y, x))


def test_crossed_moments_are_those_of_permuted_rows():
    x, y = np.random.default_rng(0).normal(size=(2, 50, 3)) + 5
    before, permuted = Moments(3, 3), Moments(3, 3)
    before.update(x, y)
    permuted.update(x, y[::-1].copy())
    crossed = before.crossed(permuted.xy)
    assert crossed.n == 50
    for found, expected in ((crossed.scatter, permuted.scatter), (crossed.mean, permuted.mean)):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-10)
    assert not np.allclose(before.xy, crossed.xy)
