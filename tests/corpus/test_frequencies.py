import numpy as np
import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.corpus import frequencies as module
from bottomup.corpus.frequencies import frequencies, ranks, shared_ranks

VOCABULARY = {"<pad>": 0, "</s>": 1, "<unk>": 2, "<mask>": 3, "a": 4, "b": 5, "c": 6, "d": 7}
IDS = np.array([5, 7, 1, 7, 5, 2, 4, 1, 7, 1, 1], dtype=np.int32)


def test_ranks_follow_counts_and_ties_follow_ids():
    table = frequencies(IDS, VOCABULARY)
    assert table["token"].tolist() == ["d", "b", "a", "c"]
    assert table["token_id"].tolist() == [7, 5, 4, 6]
    assert table["count"].tolist() == [3, 2, 1, 0]
    assert table["rank"].tolist() == [1, 2, 3, 4]
    assert frequencies(IDS[:0], VOCABULARY)["token_id"].tolist() == [4, 5, 6, 7]


def test_equally_frequent_tokens_share_a_rank():
    table = pd.DataFrame({"token_id": [6, 4, 5, 7], "count": [9, 2, 2, 0]})
    assert shared_ranks(table).tolist() == [5, 5, 5, 5, 2, 2, 1, 4]


@pytest.mark.parametrize("ids", [[4, 5, 7], [6, 4, 4, 5], [3, 4, 5]])
@pytest.mark.parametrize("of", [ranks, shared_ranks])
def test_ranks_are_of_all_tokens(ids, of):
    """A row that is missing, or stands twice, moves no other token to its place."""
    table = frequencies(IDS, VOCABULARY)
    assert ranks(table).tolist() == [5, 5, 5, 5, 3, 2, 4, 1]
    damaged = pd.DataFrame({"token_id": ids, "count": 1, "rank": range(1, 1 + len(ids))})
    with pytest.raises(UserError, match=f"has {len(ids)} rows, .*; delete corpus/frequencies.csv"):
        of(damaged)


def test_chunks_do_not_matter(monkeypatch):
    whole = frequencies(IDS, VOCABULARY)
    monkeypatch.setattr(module, "CHUNK_TOKENS", 3)
    assert frequencies(IDS, VOCABULARY).equals(whole)
