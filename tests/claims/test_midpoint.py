"""When something appears: midpoints of curves over steps, and what they say of two that rise
together."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from bottomup.claims.curves import midpoint
from bottomup.claims.field import later

TIMES = np.arange(0.0, 12.0)
TOGETHER = 1 / (1 + np.exp(-2 * (TIMES - 4)))


def noisy(curve, spread, n, rng):
    return curve[:, None] + spread * rng.standard_normal((len(curve), n))


def test_the_midpoint_of_a_sigmoid_is_its_own_whatever_its_size_and_slope():
    for middle, slope, size in ((4, 2, 1), (6, 3, 0.1), (5.5, 1.5, -20)):
        curve = 7 + size / (1 + np.exp(-slope * (TIMES - middle)))
        assert midpoint(TIMES, curve[:, None]) == pytest.approx(middle, abs=0.02)
    # By hand: a third of the rise between 0 and 1, two thirds between 2 and 4.
    by_hand = midpoint(np.array([0.0, 1, 2, 4]), np.array([[5.0], [6], [6], [8]]))
    assert by_hand == pytest.approx(0.5 / 3 + 3 * 2 / 3)


def test_a_noisier_curve_is_not_later():
    rng, n = np.random.default_rng(0), 20_000
    found = {s: midpoint(TIMES, noisy(TOGETHER, s, n, rng)) for s in (0.01, 0.1)}
    # But for twice the squared noise of how far it is from the middle of the times, 5.5.
    expected = 2 * (0.1**2 - 0.01**2) * (4 - 5.5)
    error = found[0.1].std() / n**0.5
    assert error < 0.01
    assert found[0.1].mean() - found[0.01].mean() == pytest.approx(expected, abs=4 * error)
    # The first time that it is three deviations above its start is later by far more.
    sure = [(noisy(TOGETHER, s, n, rng) > 3 * s).argmax(axis=0).mean() for s in (0.01, 0.1)]
    assert sure[1] - sure[0] > 1


def apart(middles, rng, n):
    """How much later the second of two curves rises, in `n` studies of three runs. Each has its own
    noise, and the second is ten times as large."""
    steps, curves = (2.0**TIMES).astype(int), []
    for middle, size, spread in zip(middles, (0.1, 1.0), (0.02, 0.1), strict=True):
        values = noisy(size / (1 + np.exp(-2 * (TIMES - middle))), spread * size, 3 * n, rng)
        curves.append(dict(zip(steps, values, strict=True)))
    [found] = later(curves[1], curves[0])
    return found.reshape(3, n)


def test_of_curves_that_rise_together_few_studies_find_that_one_is_later():
    """The null of simultaneity, for differences of midpoints that are paired within runs."""
    rng = np.random.default_rng(0)
    together = ttest_1samp(apart((5.5, 5.5), rng, 4000), 0.0).pvalue
    assert 0.03 < np.mean(together <= 0.05) <= 0.06
    assert apart((5.5, 6.5), rng, 4000).mean() == pytest.approx(1.0, abs=0.05)


def test_the_initial_model_has_no_place_among_doublings():
    """It may be looked at, as step 0; steps count from the first update on."""
    rise = dict(zip([1, 2, 4, 8], np.array([[0.0], [1], [1], [2]]), strict=True))
    other = dict(zip([1, 2, 4, 8], np.array([[0.0], [0], [0], [2]]), strict=True))
    assert later(other, rise) == pytest.approx([1.0])  # 2.5 and (0.5 + 2.5) / 2 doublings
    initial = {0: np.array([-9.0])}
    assert later(initial | other, initial | rise) == pytest.approx([1.0])
