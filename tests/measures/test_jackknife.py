"""Sums and errors by leaving blocks out, and whether the intervals cover what they should."""

import numpy as np
import pandas as pd
import pytest

from bottomup.corpus.blocks import deal
from bottomup.measures import jackknife


def test_sums_of_all_and_of_what_is_left():
    """Of the second of three blocks there is nothing: it makes no odds."""
    totals, blocks = np.array([[1, 10], [2, 20], [4, 40]]), np.array([0, 2, 0], dtype=np.int8)
    expected = [[7, 70], [2, 20], [7, 70], [5, 50]]
    assert jackknife.sums(totals, blocks, 3).tolist() == expected
    assert jackknife.sums_without(totals, blocks, 3).tolist() == expected[1:]


def test_the_error_of_a_mean_is_the_textbook_s_where_each_value_is_a_block():
    """1, 2, 3 and 6 have the variance 14 / 3; Student's quantile of 3 degrees is 3.1824."""
    without = np.array([11 / 3, 10 / 3, 9 / 3, 6 / 3])
    error = np.sqrt(14 / 3 / 4)
    assert jackknife.error(without) == pytest.approx(error)
    assert jackknife.interval(3.0, without) == pytest.approx(
        (3 - 3.1824 * error, 3 + 3.1824 * error), abs=1e-3
    )
    with_noise = 3.1824 * np.sqrt(error**2 + 4)
    low, high = jackknife.interval(3.0, without, noise=2.0)
    assert (low, high) == pytest.approx((3 - with_noise, 3 + with_noise), abs=1e-3)


def test_of_several_values_at_once():
    without = np.random.default_rng(0).normal(size=(2, 3, 5))
    found = jackknife.error(without)
    assert found.shape == (2, 3)
    assert found[1, 2] == pytest.approx(jackknife.error(without[1, 2]))


def test_one_block_and_one_that_holds_everything_have_no_error():
    assert np.isnan(jackknife.error(np.array([1.0])))
    left = jackknife.sums_without(np.array([2.0, 3.0]), np.array([1, 1]), 3)
    assert np.isnan(jackknife.error(jackknife.ratio(left, left)))


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
        intervals = jackknife.interval(whole, np.array(without)), by_sentences(values, rng)
        covered.append([low < 0 < high for low, high in intervals])
    by_blocks, of_sentences = np.mean(covered, axis=0)
    assert by_blocks == pytest.approx(0.95, abs=0.033)
    assert of_sentences < 0.7


def test_arrays_are_in_the_parquet_alone(tmp_path):
    value = jackknife.estimate("accuracy", 0.5, np.array([0.4, 0.6]))
    row = {"head": 1, **value, "baseline_without": np.array([0.1, 0.2])}
    jackknife.write([row, row | {"baseline_without": None}], tmp_path / "all.csv")
    csv, parquet = (pd.read_csv(tmp_path / "all.csv"), pd.read_parquet(tmp_path / "all.parquet"))
    assert [*csv] == ["head", "accuracy", "ci_low", "ci_high"] and len(csv) == 2
    assert [*parquet] == [*row] and parquet["without"][1].tolist() == [0.4, 0.6]
    assert parquet["baseline_without"][0].tolist() == [0.1, 0.2]
    assert parquet["baseline_without"][1] is None


def test_a_table_without_rows_has_the_same_columns(tmp_path):
    jackknife.write(pd.DataFrame(columns=["head", "accuracy", "without"]), tmp_path / "none.csv")
    assert [*pd.read_csv(tmp_path / "none.csv")] == ["head", "accuracy"]
    assert [*pd.read_parquet(tmp_path / "none.parquet")] == ["head", "accuracy", "without"]
