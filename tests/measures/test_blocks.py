"""Blocks of sentences: nothing lost in dealing, and spreads that are those of new data."""

import numpy as np
import pytest

from bottomup.measures import blocks, pwcca
from bottomup.measures.pwcca import kinds_of, pwcca_distance

DEFINITION = [("definition", "x")]


def text(generator, n_sentences=200, length=5, d=3):
    """Two views whose relation depends on a sentence's topic, and their sentences."""
    sentences = np.repeat(np.arange(n_sentences), length)
    n = len(sentences)
    noise = np.where(generator.integers(2, size=n_sentences)[sentences], 0.2, 2.0)[:, None]
    x = (
        generator.normal(size=(n, d)) * [3, 2, 1]
        + generator.normal(size=(n_sentences, d))[sentences]
    )
    return x, x + noise * generator.normal(size=(n, d)), sentences


def measured(x, y, sentences, kinds=DEFINITION, n_samples=20, seed=1):
    parts = blocks.moments_of_blocks(x, y, sentences, seed)
    return blocks.distances(parts, kinds, n_samples, seed)


@pytest.mark.parametrize(("n_sentences", "n_blocks"), [(3, 3), (20, 20), (47, 20)])
def test_each_sentence_is_in_one_block_and_blocks_are_of_like_size(n_sentences, n_blocks):
    sentences = np.random.default_rng(0).permutation(np.repeat(np.arange(n_sentences) * 7, 3))
    dealt = blocks.deal(sentences, seed=1)
    assert len(dealt) == n_blocks
    assert np.array_equal(np.sort(np.concatenate(dealt)), np.arange(len(sentences)))
    held = [set(sentences[rows]) for rows in dealt]
    assert sum(map(len, held)) == n_sentences
    assert max(map(len, held)) - min(map(len, held)) <= 1
    assert all((np.diff(rows) > 0).all() for rows in dealt)


def test_the_distance_is_that_of_all_rows_whatever_the_blocks():
    x, y, sentences = text(np.random.default_rng(0))
    kinds = kinds_of(["definition", "svcca-2019"])
    for seed in (1, 2):
        rows = measured(x, y, sentences, kinds, seed=seed)
        for kind, row in zip(kinds, rows, strict=True):
            assert row["distance"] == pytest.approx(pwcca_distance(x, y, *kind), abs=1e-9)
            assert row["ci_low"] < row["distance"] < row["ci_high"]
            assert row["n_occurrences"] == len(sentences)


def test_a_sample_is_the_text_it_stands_for():
    x, y, sentences = text(np.random.default_rng(0))
    parts = blocks.moments_of_blocks(x, y, sentences, seed=1)
    counts = np.random.default_rng(0).integers(3, size=len(parts))
    dealt = blocks.deal(sentences, seed=1)
    rows = np.concatenate([np.tile(r, count) for r, count in zip(dealt, counts, strict=True)])
    sample = pwcca.distances(blocks.merged(parts, counts), DEFINITION)
    assert sample == pytest.approx(pwcca_distance(x[rows], y[rows]), abs=1e-9)


def test_the_standard_error_is_that_of_drawing_the_text_anew():
    generator = np.random.default_rng(0)
    found = [measured(*text(generator), seed=seed)[0] for seed in range(200)]
    values, low, high = (
        np.array([row[k] for row in found]) for k in ("distance", "ci_low", "ci_high")
    )
    errors = (high - low) / 2 / 1.96
    # 200 values give their own standard deviation to 1 / sqrt(400), that is 5 %: 3 of these, and
    # 5 % for what 20 blocks leave out.
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(values.std(), rel=0.2)
    # 20 blocks and 20 samples leave each error uncertain by a fifth, so that 1.96 of it cover
    # about 93 %; 200 intervals show that to 1.8 %.
    covered = (low < values.mean()) & (values.mean() < high)
    assert covered.mean() == pytest.approx(0.93, abs=0.055)


def test_where_points_are_few_the_standard_error_stays_that():
    """Six points a neuron: drawn with replacement, samples differ most in their distinct points,
    and so in their bias, and would have errors two thirds too large."""
    generator = np.random.default_rng(0)
    n, d = 144, 24
    noise = np.linspace(0.2, 2, d)
    values, errors = [], []
    for seed in range(100):
        x = generator.normal(size=(n, d))
        y = x + noise * generator.normal(size=(n, d))
        [row] = measured(x, y, np.arange(n), seed=seed)
        values.append(row["distance"])
        errors.append((row["ci_high"] - row["ci_low"]) / 2 / 1.96)
    # 100 values give their own standard deviation to 1 / sqrt(200), that is 7 %: 3 of these.
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(values), rel=0.21)


def test_half_of_the_blocks_have_the_variance_of_all():
    """Of the mean of any numbers: over half-samples about all, as over all about the truth."""
    values = np.random.default_rng(0).normal(size=20)
    halves = blocks.half_samples(20, 20_000, seed=1)
    assert (halves.sum(axis=1) == 10).all()
    means = halves @ values / 10
    # 20,000 samples give a standard deviation to half a percent: 4 of these.
    assert means.std() == pytest.approx(values.std(ddof=1) / np.sqrt(20), rel=0.02)


def test_of_a_single_sentence_there_is_no_interval():
    x = np.random.default_rng(0).normal(size=(40, 3))
    [row] = measured(x, x + 1, np.zeros(40, dtype=int))
    assert row["distance"] == pytest.approx(0, abs=1e-9)
    assert np.isnan(row["ci_low"]) and np.isnan(row["ci_high"])


def test_rows_alone_would_claim_too_much():
    """Why sentences are dealt, not rows: topics make the rows of a sentence alike."""
    generator = np.random.default_rng(0)
    widths = []
    for seed in range(20):
        x, y, sentences = text(generator, n_sentences=60, length=20)
        for units in (sentences, np.arange(len(sentences))):
            [row] = measured(x, y, units, seed=seed)
            widths.append(row["ci_high"] - row["ci_low"])
    of_sentences, of_rows = np.mean(widths[::2]), np.mean(widths[1::2])
    assert of_sentences > 1.5 * of_rows


def test_seeds_decide():
    x, y, sentences = text(np.random.default_rng(0))
    assert measured(x, y, sentences) == measured(x, y, sentences)
    assert measured(x, y, sentences)[0]["ci_low"] != measured(x, y, sentences, seed=2)[0]["ci_low"]


def test_too_few_occurrences_are_warned_of_once(caplog):
    x, y = np.random.default_rng(0).normal(size=(2, 20, 30))
    measured(x, y, np.arange(20))
    assert len(caplog.records) == 1 and "on 10 occurrences: too few" in caplog.text
