"""What a table sees of a run's views."""

import numpy as np
import pandas as pd
import pytest

from bottomup.core.settings import Measured
from bottomup.corpus.specials import UNK
from bottomup.views.seen import see


@pytest.fixture
def files(tmp_path):
    """Four occurrences of three words, the last of two sub-words; the first two are unknown."""
    table = pd.DataFrame({"input_id": [UNK, UNK, 7, 8], "block": 0})
    parts = {"first_subword": [True, True, True, False], "last_subword": [True, True, False, True]}
    paths = {name: [tmp_path / f"{name}.parquet"] for name in ("occurrences", "annotations")}
    table.to_parquet(*paths["occurrences"])
    pd.DataFrame(parts).to_parquet(*paths["annotations"])
    np.save(tmp_path / "views.npy", np.ones((2, 4, 3), dtype=np.float16))
    return paths | {"views": [tmp_path / "views.npy"]}


def measured(**about):
    return Measured(table="change", sees="views", run={}, options={}, **about)


def test_a_word_is_seen_where_the_model_has_read_it(files):
    for backward, name in ((False, "last_subword"), (True, "first_subword")):
        found = see(files, measured(backward=backward)).occurrences
        assert found["stands_for_word"].tolist() == found[name].tolist()


def test_unknown_words_are_words_of_their_own_and_unknown_sub_words_one_token(files):
    found = [see(files, measured(unit=unit)).occurrences for unit in ("word", "subword")]
    assert [of["input_id"].nunique() for of in found] == [4, 3]
