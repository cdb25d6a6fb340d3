"""How intervals combine: every number by hand."""

import math

import pytest

from bottomup.claims.estimate import Estimate, given, mean, over_seeds, weakest


def parts(estimate):
    return pytest.approx((estimate.value, estimate.low, estimate.high))


def test_half_widths_of_a_difference_add_in_quadrature():
    # 5 from 3 and 4, on each side.
    assert parts(Estimate(30, 27, 33) - Estimate(20, 16, 24)) == (10, 5, 15)
    # Below: down from the first (3), up from the second (4). Above: up (12), down (5).
    assert parts(Estimate(30, 27, 42) - Estimate(20, 15, 24)) == (10, 5, 23)


def test_a_mean_has_the_mean_half_width():
    assert parts(mean([Estimate(1, 0, 3), Estimate(3, 1, 5)])) == (2, 0.5, 4)


def test_the_opposite_swaps_the_ends():
    assert parts(-Estimate(2, 1, 5)) == (-2, -5, -1)
    assert parts(Estimate(2, 1, 5).half()) == (1, 0.5, 2.5)


def test_a_logarithm_has_the_relative_half_width():
    assert (math.log(4), math.log(4) - 0.25, math.log(4) + 0.5) == parts(Estimate(4, 3, 6).log())
    assert math.isnan(Estimate(0, -1, 1).log().value)
    assert math.isnan(Estimate(math.nan, math.nan, math.nan).log().value)


def test_the_weakest_part_takes_the_least_of_each():
    wide, narrow = Estimate(2, -1, 5), Estimate(3, 2.5, 3.5)
    assert parts(weakest([wide, narrow])) == (2, -1, 3.5)
    assert math.isnan(weakest([narrow, Estimate(1, math.nan, math.nan)]).low)


def test_where_a_condition_may_not_hold_nothing_is_shown():
    then = Estimate(2, 1, 3)
    assert parts(given(Estimate(5, 4, 6), then)) == (2, 1, 3)
    assert parts(given(Estimate(5, 4, 6), -then)) == (-2, -3, -1)
    assert parts(given(Estimate(0, -1, 1), then)) == (2, -1, 3)
    assert parts(given(Estimate(0, -1, 1), -then)) == (-2, -3, 1)
    assert parts(given(Estimate(-8, -9, -7), -then)) == (-2, -9, 9)
    assert math.isnan(given(Estimate(1, math.nan, math.nan), then).low)


def test_seeds_are_averaged_in_the_interval_that_spans_all():
    assert parts(over_seeds([Estimate(2, 1, 3), Estimate(4, 2, 9)])) == (3, 1, 9)
    assert parts(over_seeds([Estimate(2, 1, 3)])) == (2, 1, 3)
