"""Which occurrences carry which labels."""

import numpy as np
import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.measures.labels import choose

EOS, MASK = 1, 3
# By rank in the training text: 12, 11, 10, 13, 14.
FREQUENCIES = pd.DataFrame({"token_id": [10, 11, 12, 13, 14], "rank": [3, 2, 1, 4, 5]})
PLAIN = pd.DataFrame(
    {
        "kind": "plain",
        "input_id": [10, 11, 14, 11, 10, 14],
        "output_id": [11, 14, EOS, 10, 14, EOS],
    }
)
AS_TRAINED = pd.DataFrame(
    {
        "kind": ["masked", "replaced", "drawn", "masked", "replaced"],
        "input_id": [MASK, 12, 13, MASK, 14],
        "output_id": [12, 10, 11, 10, 12],
    }
)


def chosen(table, n_tokens, label, positions):
    rows, tokens = choose(table, FREQUENCIES, n_tokens, label, positions)
    return list(zip(rows.tolist(), tokens.tolist(), strict=True))


def test_the_most_frequent_are_those_of_lowest_training_rank_that_occur():
    # 12, of rank 1, does not occur; in these few rows 10 and 14 are as frequent as 11.
    assert chosen(PLAIN, 1, "input", "all") == [(1, 11), (3, 11)]
    assert chosen(PLAIN, 2, "input", "all") == [(0, 10), (1, 11), (3, 11), (4, 10)]
    assert len(chosen(PLAIN, 100, "input", "all")) == 6


def test_special_tokens_label_nothing():
    assert chosen(PLAIN, 100, "output", "all") == [(0, 11), (1, 14), (3, 10), (4, 14)]
    assert chosen(AS_TRAINED, 100, "input", "masked") == []


def test_positions_by_kind():
    assert chosen(AS_TRAINED, 100, "output", "masked") == [(0, 12), (3, 10)]
    # Those drawn on purpose are replaced, but no fair share of the changed.
    assert chosen(AS_TRAINED, 100, "output", "changed") == [(0, 12), (1, 10), (3, 10), (4, 12)]
    assert chosen(AS_TRAINED, 100, "input", "replaced") == [(1, 12), (2, 13), (4, 14)]


@pytest.mark.parametrize(("label", "positions"), [("inputs", "all"), ("input", "kept")])
def test_unknown_names_are_refused(label, positions):
    with pytest.raises(UserError, match=f"label '{label}' at positions '{positions}'; allowed"):
        choose(PLAIN, FREQUENCIES, 5, label, positions)


def test_rows_are_positions_whatever_the_index():
    shuffled = PLAIN.set_index(np.array([9, 9, 2, 0, 5, 7]))
    assert chosen(shuffled, 1, "input", "all") == [(1, 11), (3, 11)]
