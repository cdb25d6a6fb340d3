"""What is left of a draw where not all is seen."""

import numpy as np
import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.views.draws import SEEN, among, chosen, places, there


def test_those_that_are_seen_are_counted_among_themselves():
    seen = np.array([True, False, True, True])
    assert among(seen, np.array([3, 1, 0])).tolist() == [2, 0]
    assert places(seen, np.array([[3, 0], [2, 2]])).tolist() == [[2, 0], [1, 1]]
    table = pd.DataFrame({"a": [1, 2]})
    assert there(table).tolist() == [True, True]
    assert there(table.assign(**{SEEN: [False, True]})).tolist() == [False, True]


def test_what_is_not_seen_leaves_a_draw_and_nothing_takes_its_place():
    every = np.full(100, True)
    drawn = chosen(np.random.default_rng(1), 20, every)
    assert len(drawn) == len({*drawn}) == 20 and drawn.tolist() == sorted(drawn)
    seen = every.copy()
    seen[drawn[:5]] = False
    left = np.flatnonzero(seen)[chosen(np.random.default_rng(1), 20, seen)]
    assert left.tolist() == drawn[5:].tolist()
    with pytest.raises(UserError, match="none of 20 occurrences that were drawn is seen, as 0 of"):
        chosen(np.random.default_rng(1), 20, ~every)
