"""PWCCA without blocks: nothing lost by parts, and errors that are those of new text."""

import numpy as np
import pytest

from bottomup.measures import blocks
from bottomup.measures.jackknife import WITHOUT, error
from bottomup.measures.pwcca import kinds_of, pwcca_distance

DEFINITION = [("definition", "x")]
COUNT = 20


def text(generator, n_documents=200, length=5, d=3):
    """Two views whose relation depends on a document's topic, and the block of each row."""
    documents = np.repeat(np.arange(n_documents), length)
    n = len(documents)
    noise = np.where(generator.integers(2, size=n_documents)[documents], 0.2, 2.0)[:, None]
    x = (
        generator.normal(size=(n, d)) * [3, 2, 1]
        + generator.normal(size=(n_documents, d))[documents]
    )
    return x, x + noise * generator.normal(size=(n, d)), documents % COUNT


def measured(x, y, dealt, kinds=DEFINITION, count=COUNT):
    return [*blocks.distances(blocks.moments_of_blocks(x, y, dealt, count), kinds)]


def test_the_distance_is_that_of_all_rows_and_without_a_block_that_of_the_others():
    x, y, dealt = text(np.random.default_rng(0))
    kinds = kinds_of(["definition", "svcca-2019"])
    for kind, row in zip(kinds, measured(x, y, dealt, kinds), strict=True):
        assert row["distance"] == pytest.approx(pwcca_distance(x, y, *kind), abs=1e-9)
        assert row["ci_low"] < row["distance"] < row["ci_high"]
        assert row["n_occurrences"] == len(dealt)
        for number in (0, 7):
            rest = dealt != number
            expected = pwcca_distance(x[rest], y[rest], *kind)
            assert row[WITHOUT][number] == pytest.approx(expected, abs=1e-9)


def test_a_block_that_holds_nothing_changes_nothing():
    x, y, dealt = text(np.random.default_rng(0))
    [row] = measured(x, y, np.where(dealt == 3, 4, dealt))
    assert row[WITHOUT][3] == row["distance"]
    assert row[WITHOUT][4] != row["distance"]


@pytest.mark.long
def test_the_error_is_that_of_drawing_the_text_anew():
    generator = np.random.default_rng(0)
    found = [measured(*text(generator))[0] for _ in range(200)]
    values = np.array([row["distance"] for row in found])
    errors = np.array([error(row["distance"], row[WITHOUT]) for row in found])
    # 200 values give their own standard deviation to 1 / sqrt(400), that is 5 %: 4 of these.
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(values.std(), rel=0.2)
    covered = [row["ci_low"] < values.mean() < row["ci_high"] for row in found]
    # 200 intervals show 95 % to 1.5 %: 3 of these.
    assert np.mean(covered) == pytest.approx(0.95, abs=0.046)


@pytest.mark.long
def test_where_points_are_few_the_error_is_too_large_rather_than_too_small():
    """Six points a neuron: a block less is a bias more, which differs from block to block."""
    generator = np.random.default_rng(0)
    n, d = 144, 24
    noise = np.linspace(0.2, 2, d)
    values, errors = [], []
    for _ in range(100):
        x = generator.normal(size=(n, d))
        y = x + noise * generator.normal(size=(n, d))
        [row] = measured(x, y, np.arange(n) % COUNT)
        values.append(row["distance"])
        errors.append(error(row["distance"], row[WITHOUT]))
    # 100 values give their own standard deviation to 1 / sqrt(200), that is 7 %: 3 of these.
    assert 0.8 < np.sqrt(np.mean(np.square(errors))) / np.std(values) < 1.8


def test_of_a_single_block_there_is_no_interval():
    x = np.random.default_rng(0).normal(size=(40, 3))
    [row] = measured(x, x + 1, np.zeros(40, dtype=int), count=1)
    assert row["distance"] == pytest.approx(0, abs=1e-9)
    assert np.isnan(row["ci_low"]) and np.isnan(row["ci_high"])


def test_too_few_occurrences_are_warned_of_once(caplog):
    x, y = np.random.default_rng(0).normal(size=(2, 20, 30))
    [row] = measured(x, y, np.arange(20))
    numbers = row["distance"], row["ci_low"], row["ci_high"], *row[WITHOUT]
    assert np.isnan(numbers).all() and len(row[WITHOUT]) == COUNT
    assert (row["n_occurrences"], row["n_needed"]) == (20, 120)
    assert len(caplog.records) == 1 and "on 20 occurrences: too few" in caplog.text
