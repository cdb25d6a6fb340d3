"""How sure a mean over runs and documents is: by hand, and by simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from bottomup.measures import jackknife
from bottomup.measures.jackknife import ANY, UNIT
from bottomup.measures.over_runs import (
    MOST_DF,
    NO_PRIOR,
    errors,
    interval,
    mean,
    variance_of_runs,
    without_blocks,
)

VALUES = np.array([1.0, 3.0, 8.0])  # mean 4, variance 13
SEEDS = np.array([[1], [2], [3]])
NOTHING = np.zeros(3)
# Without a block, the mean is 2 or 1 lower, or 3 higher: 2 / 3 * (4 + 1 + 9) is its variance.
WITHOUT = VALUES[:, None] + np.array([-2.0, -1.0, 3.0])
OF_TEXT = 28 / 3


def half_width(found):
    low, high = interval(found, ANY)
    assert high - found.values == pytest.approx(found.values - low)
    return high - found.values


def test_the_variances_of_documents_and_of_runs_add():
    found = mean(VALUES, WITHOUT, NOTHING, SEEDS)
    assert (found.values, found.n_runs) == (4, 3)
    assert (found.text, found.run) == (pytest.approx(OF_TEXT), pytest.approx(13))
    # Welch and Satterthwaite, with two degrees of freedom of three blocks and two of three runs.
    variance = OF_TEXT + 13 / 3
    df = variance**2 / (OF_TEXT**2 / 2 + (13 / 3) ** 2 / 2)
    assert df < 2 * MOST_DF
    assert half_width(found) == pytest.approx(student.ppf(0.975, df) * np.sqrt(variance))


def test_of_one_run_there_are_documents_alone():
    found = mean(VALUES[:1], WITHOUT[:1], NOTHING[:1], SEEDS[:1])
    assert found.n_runs == 1 and np.isnan(found.run)
    assert half_width(found) == pytest.approx(student.ppf(0.975, 2) * np.sqrt(OF_TEXT))


def test_runs_that_agree_by_chance_vary_as_much_as_their_measuring_does():
    noise = np.array([0.3, 0.6, 0.2])
    found = mean(np.full(3, 4.0), np.full((3, 4), 4.0), noise, SEEDS)
    assert found.noise == pytest.approx((0.09 + 0.36 + 0.04) / 9)
    error, _ = errors(found, NO_PRIOR)
    assert error == pytest.approx(np.sqrt(0.49) / 3)


def test_pairs_of_runs_are_no_more_runs_than_their_seeds():
    pairs = np.array([[1, 2], [1, 3], [2, 3]])
    found = mean(VALUES, WITHOUT, NOTHING, pairs)
    # Without seed 1 the last pair is left, and so on: 8, 3, 1, of which the jackknife's variance
    # of the mean is 2 / 3 * (16 + 1 + 9), and that of one run three times as much.
    assert found.n_runs == 3
    assert found.run == pytest.approx(52)


def test_nothing_is_known_of_other_runs_if_every_pair_has_a_seed():
    both_ways = np.array([[1, 2], [2, 1]])
    found = mean(VALUES[:2], WITHOUT[:2], NOTHING[:2], both_ways)
    assert found.n_runs == 1 and np.isnan(found.run)


def test_the_variance_of_runs_is_that_of_the_sample():
    left = (VALUES.sum() - VALUES[:, None]) / 2
    assert variance_of_runs(left) == pytest.approx([13])
    assert np.isnan(variance_of_runs(left[:1]))


@pytest.mark.parametrize("n_runs", [2, 3, 5, 8])
def test_equal_runs_do_not_vary_by_rounding(n_runs):
    """As tau-a of six pairs may be equal in all runs."""
    for value in np.arange(-28, 29) / 28:
        values = np.full((n_runs, 1), value)
        assert variance_of_runs((values.sum(0) - values) / (n_runs - 1)) == [0.0]


def test_an_interval_stays_within_what_is_possible():
    values = np.array([0.9, 0.99, 0.6])
    without = values[:, None] + np.array([-0.2, 0.05, 0.1])
    low, high = interval(mean(values, without, NOTHING, SEEDS), UNIT)
    free, _ = interval(mean(values, without, NOTHING, SEEDS), ANY)
    assert 0 < low == free < values.mean() < high == 1


def test_without_any_spread_there_is_no_interval():
    nothing = mean(np.full(3, 0.5), np.full((3, 4), 0.5), NOTHING, SEEDS)
    unknown = mean(VALUES, np.full((3, 4), np.nan), NOTHING, SEEDS)
    for found in (nothing, unknown):
        assert np.isnan(interval(found, ANY)).all()


def test_arrays_that_are_missing_are_unknown():
    some = pd.Series([np.array([1.0, 2.0]), None, np.nan, np.array([3.0, 4.0])], index=[4, 4, 0, 1])
    found = without_blocks(pd.Series([1.5, 0.5, 0.5, 3.5], index=some.index), some)
    assert found[[0, 3]].tolist() == [[1, 2], [3, 4]] and np.isnan(found[1:3]).all()
    assert np.isnan(without_blocks(pd.Series([0.5, 0.5]), pd.Series([None, None]))).all()


def test_without_a_block_that_holds_nothing_a_value_stays():
    """The error is that of the blocks that do; of one block alone nothing is known."""
    arrays = [np.array([0.4, 0.7, 0.5, 0.9]), np.array([0.4, 0.7]), np.array([0.4])]
    values = pd.Series([0.6, 0.6, 0.6])
    found = without_blocks(values, pd.Series(arrays))
    assert found.shape == (3, 4) and found[0].tolist() == arrays[0].tolist()
    errors = [jackknife.error(0.6, row) for row in found]
    assert errors[1] == pytest.approx(jackknife.error(0.6, arrays[1])) and np.isnan(errors[2])


def covered(n_runs, ratio, n_studies=3000, n_blocks=20):
    """How often the interval has the true mean, 0, in studies in which runs vary `ratio` times as
    much as the documents move their mean."""
    rng = np.random.default_rng(0)
    seeds = np.arange(n_runs)[:, None]
    hits = 0
    for _ in range(n_studies):
        documents = rng.standard_normal(n_blocks)
        runs = ratio / np.sqrt(n_blocks) * rng.standard_normal(n_runs)
        values = documents.mean() + runs
        left = (documents.sum() - documents) / (n_blocks - 1)
        found = mean(values, left + runs[:, None], np.zeros(n_runs), seeds)
        low, high = interval(found, ANY)
        hits += low < 0 < high
    return hits / n_studies


@pytest.mark.long
@pytest.mark.parametrize("ratio", [1, 3])
@pytest.mark.parametrize("n_runs", [3, 5, 10])
def test_the_interval_has_the_truth_as_often_as_it_says(n_runs, ratio):
    assert covered(n_runs, ratio) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("ratio", [1, 3])
def test_two_runs_promise_less_than_they_keep(ratio):
    """One degree of freedom says hardly anything: 12.7 standard errors, of documents too."""
    assert covered(2, ratio) > 0.95
