"""Documents dealt into blocks: whole, into blocks of like size, by the seed."""

import numpy as np
import pandas as pd
import pytest

from bottomup.corpus.blocks import deal


def documents(lengths):
    return pd.Series(np.repeat([f"page{number}" for number in range(len(lengths))], lengths))


def test_a_document_is_in_one_block_and_blocks_are_of_like_size():
    lengths = np.random.default_rng(0).integers(1, 60, size=300)
    dealt = deal(documents(lengths), seed=1)
    assert pd.Series(dealt).groupby(documents(lengths)).nunique().max() == 1
    sizes = np.bincount(dealt)
    assert len(sizes) == 20 and sizes.sum() == lengths.sum()
    # The shortest documents come last and fill what is left.
    assert sizes.max() - sizes.min() <= 3


def test_a_document_longer_than_a_block_has_one_to_itself():
    dealt = deal(documents([1000, *[2] * 100]), seed=1)
    assert (dealt[:1000] == dealt[0]).all() and not (dealt[1000:] == dealt[0]).any()


def test_where_documents_are_not_known_a_block_is_a_run_of_the_text():
    dealt = deal(documents([1] * 100), seed=1)
    assert (np.diff(dealt) >= 0).all()
    assert (np.bincount(dealt) == 100 // 20).all()


def test_documents_of_one_passage_each_are_dealt_at_random():
    dealt = deal(documents([1] * 100), seed=1, named=True)
    assert (np.diff(dealt) < 0).any()
    assert (np.bincount(dealt) == 100 // 20).all()


@pytest.mark.parametrize(("lengths", "n"), [([3, 2, 5], 3), ([1] * 10, 10)])
@pytest.mark.parametrize("named", [False, True])
def test_with_fewer_documents_than_blocks_each_is_one(lengths, n, named):
    assert sorted(set(deal(documents(lengths), 1, named))) == [*range(n)]


def test_the_seed_decides():
    first, again, other = (deal(documents([2] * 90), seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


@pytest.mark.parametrize("lengths", [[], [1]])
def test_little_text_is_no_error(lengths):
    assert len(deal(documents(lengths), seed=1)) == len(lengths)
