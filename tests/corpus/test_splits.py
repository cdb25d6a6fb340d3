import itertools

import numpy as np
import pandas as pd
import pytest

from bottomup.corpus.splits import SPLITS, split
from bottomup.errors import UserError

SIZES = {"seed": 3, "test_words": 300, "dev_words": 100}


@pytest.fixture
def pairs():
    """60 pages of 1 to 20 pairs of 4 words; a quarter of the sources is shared between pages."""
    draw = np.random.default_rng(5)
    rows = [
        (f"page{page}", f"par{i}", f"Save the file {draw.integers(10_000)}", "die Datei speichern")
        if draw.random() > 0.25
        else (f"page{page}", f"par{i}", f"See also page {draw.integers(30)}", "siehe auch")
        for page in range(60)
        for i in range(draw.integers(1, 21))
    ]
    return pd.DataFrame(rows, columns=["document", "element", "source", "target"], dtype=str)


def words(table):
    return table["source"].str.split().str.len().sum()


def test_no_document_and_no_source_sentence_is_in_two_splits(pairs):
    pairs.loc[::2, "source"] = pairs.loc[::2, "source"].str.upper()
    tables, _ = split(pairs, **SIZES)
    for a, b in itertools.combinations(SPLITS, 2):
        assert not set(tables[a]["document"]) & set(tables[b]["document"])
        folded = [set(tables[name]["source"].str.casefold()) for name in (a, b)]
        assert not folded[0] & folded[1]


def test_sizes_are_reached_by_the_last_document(pairs):
    tables, counts = split(pairs, **SIZES)
    for name, size in (("test", 300), ("dev", 100)):
        largest = tables[name].groupby("document").apply(words).max()
        assert size <= words(tables[name]) < size + largest
    assert counts["source_words"].tolist() == [words(tables[name]) for name in SPLITS]


def test_repeats_are_dropped_from_train_first_and_counted(pairs):
    tables, counts = split(pairs, **SIZES)
    dropped = counts.set_index("split")["dropped_repeats"]
    assert dropped["test"] == 0 < dropped["train"]
    assert sum(map(len, tables.values())) + dropped.sum() == len(pairs)
    test_pages = pairs["document"].isin(tables["test"]["document"])
    assert test_pages.sum() == len(tables["test"])


def test_pairs_keep_their_order(pairs):
    train = split(pairs, **SIZES)[0]["train"]
    places = pairs.reset_index().merge(train, on=["document", "element"])["index"]
    assert places.is_monotonic_increasing and len(places) == len(train)


def test_the_seed_decides(pairs):
    first, again, other = (
        set(split(pairs, **{**SIZES, "seed": seed})[0]["test"]["document"]) for seed in (3, 3, 4)
    )
    assert first == again != other


def test_a_split_may_be_empty_if_asked_for(pairs):
    tables, _ = split(pairs, seed=1, test_words=0, dev_words=100)
    assert tables["test"].empty and not tables["dev"].empty


@pytest.mark.parametrize("sizes", [(10**6, 0), (0, 10**6), (1000, 10**6)])
def test_too_small_a_corpus_is_an_error(pairs, sizes):
    with pytest.raises(UserError, match=f"{words(pairs)} source words in 60 documents"):
        split(pairs, seed=1, test_words=sizes[0], dev_words=sizes[1])


def test_no_pairs_are_an_error(pairs):
    with pytest.raises(UserError, match="leave no text to train on"):
        split(pairs[:0], **SIZES)
