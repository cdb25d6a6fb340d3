"""Scales of neurons and views, by hand."""

import tracemalloc
from contextlib import nullcontext

import numpy as np
import pytest
import torch

from bottomup.core.errors import UserError
from bottomup.views import values
from bottomup.views.values import all_standardized, checked, deviations, in_float32, standardized

# Deviations about their means: 1, 0, -1 times the scale. The mean square with n - 1 is the scale's.
STEPS = np.array([[1.0], [0.0], [-1.0]])


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1.0, 1e8, 1e30])
@pytest.mark.parametrize("mean", [0.0, 1.0, -1e4])
def test_a_neuron_of_any_scale_has_deviation_1(scale, mean):
    found = standardized(scale * (STEPS + mean))
    np.testing.assert_allclose(found, STEPS, atol=1e-6)
    assert found.dtype == np.float32


def test_deviations_are_those_of_some_rows():
    view = np.vstack([STEPS, [[10.0]]])
    assert standardized(view, np.arange(3)).tolist() == [[1], [0], [-1], [10]]


@pytest.mark.parametrize("value", [0.1, 1e-8, 1e30, 3])
def test_a_constant_neuron_is_0(value):
    view = np.full((1000, 2), value)
    assert (standardized(view) == 0).all()
    view[0] = 2 * value  # constant in the rows that count
    assert (standardized(view, slice(1, None)) == 0).all()


def test_what_is_constant_is_relative_to_the_mean():
    assert deviations(np.array([1e-26, 1e-26, 0.0]), np.array([0.0, 1.0, 0.0])).tolist() == [
        pytest.approx(1e-13),
        np.inf,
        np.inf,
    ]


def test_blocks_of_rows_make_no_difference(monkeypatch):
    view = np.random.default_rng(0).normal(size=(100, 3))
    whole = standardized(view)
    monkeypatch.setattr(values, "BLOCK_ROWS", 7)
    np.testing.assert_allclose(standardized(view), whole, atol=1e-6)


def test_views_side_by_side_are_as_each_alone_and_in_memory_once():
    views = np.random.default_rng(0).normal(size=(32, 500, 32)).astype(np.float16)
    tracemalloc.start()
    together = all_standardized(views, slice(250))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (together == [standardized(view, slice(250)) for view in views]).all()
    assert peak < 1.5 * together.nbytes


def test_float32_rows_differ_by_a_power_of_two_and_what_it_cannot_hold_is_centered():
    view = np.array([[3.0, -5.0], [1.0, 0.5]], dtype=np.float16)
    assert (in_float32(view) == view / 8).all()
    far = 1e9 + STEPS
    assert np.diff(in_float32(far), axis=0).ravel().tolist() == [-(2.0**-30)] * 2
    assert in_float32(np.full((2, 1), 1e-200)).dtype == np.float32
    assert np.ptp(in_float32(1e-200 * STEPS)) == np.ptp(in_float32(STEPS * 1e-200 * 2**40)) > 0.9


def test_a_view_may_be_a_memory_map_and_stays_one(tmp_path):
    np.save(tmp_path / "view.npy", STEPS)
    view = np.load(tmp_path / "view.npy", mmap_mode="r")
    assert np.shares_memory(checked(view, "a test"), view)


def test_columns_have_a_value_for_each_row():
    assert checked([[1, 2], [3, 4]], "a test", words=["a", "b"]).shape == (2, 2)
    with pytest.raises(UserError, match=r"words of shape \(3,\) for a view of 2 occurrences"):
        checked([[1, 2], [3, 4]], "a test", words=["a", "b", "c"])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_the_states_of_a_subject_are_a_view(dtype):
    states = torch.from_numpy(STEPS).to(dtype).requires_grad_()
    assert checked(states, "a test").tolist() == STEPS.tolist()


@pytest.mark.parametrize(
    ("scale", "said"),
    [(1e200, "too large to square"), (1e-60, "largest number of a view is 1e-60"), (0.0, None)],
)
def test_no_view_is_beyond_what_can_be_squared(scale, said):
    with pytest.raises(UserError, match=said) if said else nullcontext():
        checked(scale * STEPS, "a test")
    assert np.isinf(deviations(np.array([min(scale, 1e-60) ** 2]), np.zeros(1))).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, bool, np.int8, np.uint8, np.int64])
def test_numbers_of_any_format_may_be_as_large_as_it_holds(dtype):
    ends = np.finfo(dtype) if np.dtype(dtype).kind == "f" else None
    largest = ends.max if ends else True if dtype is bool else np.iinfo(dtype).max
    assert checked(np.array([[largest], [0]], dtype=dtype), "a test").dtype == dtype
    if ends:
        assert checked(np.array([[ends.smallest_subnormal]]), "a test") > 0
