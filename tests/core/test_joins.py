"""What belongs together by position has as many rows, or is not joined."""

import numpy as np
import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.core.files.joins import require_equal_lengths
from bottomup.corpus.batches import Text
from bottomup.corpus.tokens import TokenFile
from bottomup.views.files import load
from bottomup.views.seen import Seen


def test_lengths_are_told_by_name():
    require_equal_lengths(a=[1], b=np.zeros((1, 3)))
    with pytest.raises(UserError, match="found dev blocks 1, pairs 2"):
        require_equal_lengths(dev_blocks=[1], pairs=[1, 2])


def test_the_sides_of_a_text_have_as_many_sentences():
    sides = [
        TokenFile(np.zeros(n, np.uint16), np.zeros(n, np.uint16), np.arange(n + 1)) for n in (2, 3)
    ]
    with pytest.raises(UserError, match="found source 2, target 3"):
        Text(*sides)


def test_views_of_other_occurrences_are_not_seen():
    occurrences = pd.DataFrame({"block": [0, 1]})
    views, others = np.zeros((3, 2, 4)), np.zeros((2, 3, 4))
    assert Seen(occurrences, views, others[:, :2]).blocks.tolist() == [0, 1]
    with pytest.raises(UserError, match="found occurrences 2, views 2, others 3"):
        Seen(occurrences, views, others)
    with pytest.raises(UserError, match="found occurrences 2, views 3"):
        Seen(occurrences, others)


@pytest.mark.parametrize("array", [np.zeros((5, 4)), np.zeros((2, 5, 4), int)])
def test_an_array_that_holds_no_views_is_none(tmp_path, array):
    np.save(tmp_path / "views.npy", array)
    with pytest.raises(UserError, match=r"is damaged: .* expected floats"):
        load(tmp_path / "views.npy", 5)
