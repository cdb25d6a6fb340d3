"""Sums and errors by leaving blocks out, and whether the intervals cover what they should."""

import random
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from bottomup.core.files.tables import write_estimates
from bottomup.corpus.blocks import deal
from bottomup.measures import jackknife
from bottomup.measures.jackknife import ANY, COSINE, NOT_NEGATIVE, UNIT, Range


def test_sums_of_all_and_of_what_is_left():
    """Of the second of three blocks there is nothing: it makes no odds."""
    totals, blocks = np.array([[1, 10], [2, 20], [4, 40]]), np.array([0, 2, 0], dtype=np.int8)
    expected = [[7, 70], [2, 20], [7, 70], [5, 50]]
    assert jackknife.sums(totals, blocks, 3).tolist() == expected
    assert jackknife.sums_without(totals, blocks, 3).tolist() == expected[1:]


def test_a_row_of_two_blocks_is_left_out_with_either_and_once():
    totals, blocks = np.array([1, 2, 4]), np.array([[0, 2], [2, 2], [1, 0]], dtype=np.int8)
    assert jackknife.sums_without(totals, blocks, 3).tolist() == [2, 3, 4]
    rows, of_each = jackknife.once_each(blocks)
    assert [*zip(rows, of_each, strict=True)] == [(0, 0), (0, 2), (1, 2), (2, 0), (2, 1)]


def test_a_mean_of_nothing_is_unknown_though_rounding_is_left_of_its_sum():
    """Without the only block: other sums of 0.1, 0.2 and 0.3 differ by 1e-16."""
    values, blocks = np.tile([0.1, 0.2, 0.3], 7), np.zeros(21, dtype=int)
    left, n = (jackknife.sums_without(of, blocks, 2) for of in (values, np.ones(21)))
    assert left[0] != 0 == n[0]
    with warnings.catch_warnings(action="error"):
        assert jackknife.ratio(left, n) == pytest.approx([np.nan, 0.2], nan_ok=True)
        assert np.isnan(jackknife.ratio(np.float64(1), 0))


def test_the_error_of_a_mean_is_the_textbook_s_where_each_value_is_a_block():
    """1, 2, 3 and 7 have the variance 20.75 / 3; Student's quantile of 3 degrees is 3.1824."""
    without = np.array([12 / 3, 11 / 3, 10 / 3, 6 / 3])
    error = np.sqrt(20.75 / 3 / 4)
    assert jackknife.error(3.25, without) == pytest.approx(error)
    # Deviations of 2.25, 1.25, 0.25 and 3.75: 3 * 20.75^2 / 225.8 - 2 = 3.7 degrees, at most 3.
    for noise, half_width in ((0.0, 3.1824 * error), (2.0, 3.1824 * np.sqrt(error**2 + 4))):
        found = jackknife.interval(3.25, without, ANY, noise=noise)
        assert found == pytest.approx((3.25 - half_width, 3.25 + half_width), abs=1e-3)


def test_of_several_values_at_once():
    values, without = np.ones((2, 3)), np.random.default_rng(0).normal(size=(2, 3, 5))
    found = jackknife.error(values, without)
    assert found.shape == (2, 3)
    assert found[1, 2] == pytest.approx(jackknife.error(1.0, without[1, 2]))
    degrees = jackknife.degrees_of_freedom(jackknife.deviations(values, without))
    assert degrees.shape == (2, 3) and (degrees >= 1).all() and (degrees <= 4).all()


def test_blocks_that_hold_nothing_do_not_count():
    """1, 2, 3 and 7 in four of seven blocks, as above."""
    without = np.array([3.25, 12 / 3, 11 / 3, 3.25, 10 / 3, 6 / 3, 3.25])
    assert jackknife.error(3.25, without) == pytest.approx(np.sqrt(20.75 / 3 / 4))
    found = jackknife.interval(3.25, without, ANY)
    assert found == pytest.approx(jackknife.interval(3.25, without[[1, 2, 4, 5]], ANY))


def test_degrees_of_freedom_are_those_of_the_blocks_that_deviate():
    """Of 20 normal deviations 19 on average, but for the cap at 19; two large ones count."""
    drawn = np.random.default_rng(0).normal(size=(2000, 20))
    assert 14 < np.mean(jackknife.degrees_of_freedom(drawn)) < 19
    two = np.zeros((20, 20))
    two[:, :2] = [1.0, -1.0]
    assert (jackknife.degrees_of_freedom(two) == 1).all()
    two[:, 2:] = 0.01 * drawn[:20, 2:]
    assert (jackknife.degrees_of_freedom(two) < 5).all()


def test_one_block_and_one_that_holds_everything_have_no_error():
    assert np.isnan(jackknife.error(1.0, np.array([1.0])))
    left = jackknife.sums_without(np.array([2.0, 3.0]), np.array([1, 1]), 3)
    assert np.isnan(jackknife.error(1.0, jackknife.ratio(left, left)))
    assert np.isnan(jackknife.error(1.0, np.array([1.0, 0.0, 1.0])))


def topical(rng, n_documents=60):
    """Values of sentences whose documents have topics, mean 0, and the document of each."""
    documents = np.repeat(np.arange(n_documents), rng.integers(2, 20, n_documents))
    return rng.normal(size=n_documents)[documents] + rng.normal(size=len(documents)), documents


def by_sentences(values, rng, samples=100):
    """The 95 % interval of the mean by a bootstrap of sentences, as if these were independent."""
    n = len(values)
    means = rng.multinomial(n, np.full(n, 1 / n), size=samples) @ values / n
    half_width = 1.96 * means.std(ddof=1)
    return values.mean() - half_width, values.mean() + half_width


def test_the_interval_covers_where_one_by_sentences_does_not():
    """400 of each tell their share to 1.1 % where it is 95 %: no further than three of these."""
    rng = np.random.default_rng(1)
    covered = []
    for seed in range(400):
        values, documents = topical(rng)
        blocks = deal(pd.Series(documents), seed)
        count = jackknife.n_blocks(blocks)
        sums, sizes = (jackknife.sums(x, blocks, count) for x in (values, np.ones(len(values))))
        whole, *without = sums / sizes
        intervals = jackknife.interval(whole, np.array(without), ANY), by_sentences(values, rng)
        covered.append([low < 0 < high for low, high in intervals])
    by_blocks, of_sentences = np.mean(covered, axis=0)
    assert by_blocks == pytest.approx(0.95, abs=0.033)
    assert of_sentences < 0.7


def share(hits, sizes):
    """The share of hits and its interval; hits, sizes: those of each block."""
    left = sizes.sum() - sizes
    without = jackknife.ratio(hits.sum() - hits, np.where(left > 0, left, np.nan))
    value = hits.sum() / sizes.sum()
    return value, jackknife.interval(value, without, UNIT, sizes)


def coverage(truth, n, likeness, rng, n_blocks=20, equal=True):
    """The share of intervals that hold `truth`, of 400 texts of `n` cases whose probabilities, one
    for each block, are correlated as much."""
    found = []
    for _ in range(400):
        of_blocks = np.full(n_blocks, truth)
        if likeness:
            parts = np.array([truth, 1 - truth]) * (1 - likeness) / likeness
            of_blocks = rng.beta(*parts, n_blocks)
        weights = np.full(n_blocks, 2.0)
        sizes = np.full(n_blocks, n // n_blocks)
        if not equal:
            sizes = rng.multinomial(n, rng.dirichlet(weights))
        _, (low, high) = share(rng.binomial(sizes, of_blocks), sizes)
        found.append(low <= truth <= high)
    return np.mean(found)


@pytest.mark.long
@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("likeness", [0, 0.05, 0.2])
@pytest.mark.parametrize(("truth", "n"), [(0.05, 20), (0.02, 100), (0.1, 100), (0.02, 1000)])
def test_intervals_of_shares_cover(truth, n, likeness, equal):
    """400 tell 95 % to 1.1 %: no further below it than two of these."""
    rng = np.random.default_rng([n, int(100 * truth), int(100 * likeness), equal])
    assert coverage(truth, n, likeness, rng, equal=equal) >= 0.928


@pytest.mark.parametrize("truth", [0, 1])
@pytest.mark.parametrize("n", [20, 100])
def test_a_share_of_none_or_all_is_not_certain(truth, n):
    sizes = np.full(20, n // 20)
    value, (low, high) = share(truth * sizes, sizes)
    assert value == truth and low <= truth <= high
    # A block of one case is one observation; of alike cases it is less than several.
    independent = binomtest(truth * n, n).proportion_ci()
    assert (low, high) == pytest.approx(tuple(independent), abs=1e-9 if n == 20 else 0.05)
    assert high - low >= independent.high - independent.low - 1e-9


def test_independent_cases_have_the_interval_of_clopper_and_pearson():
    """One case a block, which is what the jackknife then sees: no more and no less."""
    hits = (np.arange(300) % 3 == 0).astype(int)
    _, found = share(hits, np.ones(300, dtype=int))
    assert found == pytest.approx(tuple(binomtest(100, 300).proportion_ci()), abs=1e-3)


@pytest.mark.parametrize("n_blocks", [20, 10, 5, 3, 2])
def test_intervals_cover_however_many_blocks_hold_rows(n_blocks):
    """Rows are in some of twenty blocks, which differ in size and in their mean."""
    rng, covered = np.random.default_rng(n_blocks), []
    for _ in range(600):
        sizes = np.where(np.arange(20) < n_blocks, rng.integers(5, 30, 20), 0)
        totals = rng.normal(size=20) * np.sqrt(sizes) + 0.2 * rng.normal(size=20) * sizes
        left = sizes.sum() - sizes
        without = (totals.sum() - totals) / left
        low, high = jackknife.interval(totals.sum() / sizes.sum(), without, ANY)
        covered.append(low < 0 < high)
    # 600 tell 95 % to 0.9 %; unequal blocks cost up to 1.5 %.
    assert 0.92 <= np.mean(covered) <= 0.98


RANGES = {
    UNIT: st.floats(0, 1),
    COSINE: st.floats(-1, 1),
    NOT_NEGATIVE: st.floats(0, 1e6),
    Range(1): st.floats(1, 1e6),
    Range(0, 100): st.floats(0, 100),
    Range(high=3): st.floats(-50, 3),
    Range(0, 5.05): st.floats(0, 5.05),
    ANY: st.floats(-1e6, 1e6),
}


@st.composite
def values_without_blocks(draw):
    """A range, a value in it, and others in it: those without each block, some like the value."""
    within = draw(st.sampled_from([*RANGES]))
    value = draw(RANGES[within])
    without = draw(st.lists(st.one_of(st.just(value), RANGES[within]), min_size=1, max_size=24))
    return within, value, np.array(without)


@pytest.mark.long
@given(values_without_blocks(), st.randoms())
@example((Range(0, 100), 5e-324, np.array([50.0, 25.0])), random.Random(0))
@settings(max_examples=400, deadline=None)
@pytest.mark.filterwarnings("error")
def test_an_interval_is_within_the_range_has_a_width_and_holds_the_value(drawn, shuffling):
    within, value, without = drawn
    low, high = found = jackknife.interval(value, without, within)
    if np.isnan(low):
        assert np.isnan(high)
    else:
        assert within.low <= low <= value <= high <= within.high and low < high
    moved = without[np.abs(without - value) > 1e-12 * np.abs([*without, value]).max()]
    assert np.isnan(low) or len(moved) > 1
    shuffled = shuffling.sample([*without], len(without))
    again = jackknife.interval(value, np.array(shuffled), within)
    assert again == pytest.approx(found, rel=1e-6, abs=1e-9, nan_ok=True)
    more = jackknife.interval(value, np.append(without, value), within)
    assert more == pytest.approx(found, rel=1e-6, abs=1e-9, nan_ok=True)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=24))
@settings(max_examples=400, deadline=None)
def test_an_interval_of_a_share_is_possible_and_has_a_width(blocks):
    """hits and misses of each block; some blocks are empty, and some texts are one block."""
    hits, misses = np.array(blocks).T
    sizes = hits + misses
    if not sizes.any():
        return
    value, (low, high) = share(hits, sizes)
    if (sizes > 0).sum() < 2:
        assert np.isnan([low, high]).all()
        return
    assert 0 <= low <= value <= high <= 1 and low < high
    # Hits and misses change places.
    _, turned = share(misses, sizes)
    assert turned == pytest.approx((1 - high, 1 - low), abs=1e-6)
    # Empty blocks and the order of blocks make no odds.
    _, again = share(np.append(hits, 0)[::-1], np.append(sizes, 0)[::-1])
    assert again == pytest.approx((low, high), abs=1e-9)
    # Twice the same cases in the same blocks tell no more.
    _, twice = share(2 * hits, 2 * sizes)
    assert twice[1] - twice[0] >= 0.5 * (high - low)


def test_arrays_are_in_the_parquet_alone(tmp_path):
    value = jackknife.estimate("accuracy", 0.5, np.array([0.4, 0.6]), UNIT)
    row = {"head": 1, **value, "baseline_without": np.array([0.1, 0.2])}
    frame = pd.DataFrame([row, row | {"baseline_without": None}])
    write_estimates(frame, [tmp_path / "all.csv", tmp_path / "all.parquet"])
    csv, parquet = (pd.read_csv(tmp_path / "all.csv"), pd.read_parquet(tmp_path / "all.parquet"))
    assert [*csv] == ["head", "accuracy", "ci_low", "ci_high"] and len(csv) == 2
    assert [*parquet] == [*row] and parquet["without"][1].tolist() == [0.4, 0.6]
    assert parquet["baseline_without"][0].tolist() == [0.1, 0.2]
    assert parquet["baseline_without"][1] is None


def test_a_table_without_rows_has_the_same_columns(tmp_path):
    frame = pd.DataFrame(columns=["head", "accuracy", "without"])
    write_estimates(frame, [tmp_path / "none.csv", tmp_path / "none.parquet"])
    assert [*pd.read_csv(tmp_path / "none.csv")] == ["head", "accuracy"]
    assert [*pd.read_parquet(tmp_path / "none.parquet")] == ["head", "accuracy", "without"]


def test_a_mean_of_shares_of_which_one_is_in_one_block_has_no_interval():
    cases, known = np.full(4, 10), np.array([0.5, 0.6, 0.4, 0.5])
    assert np.isfinite(jackknife.interval(0.5, known, UNIT, cases)).all()
    without = np.where(np.arange(4) == 2, np.nan, known)
    assert np.isnan(jackknife.interval(0.5, without, UNIT, cases)).all()
