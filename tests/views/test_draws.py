"""What is left of a draw where not all is seen."""

import numpy as np
import pandas as pd

from bottomup.views.draws import SEEN, among, places, there


def test_those_that_are_seen_are_counted_among_themselves():
    seen = np.array([True, False, True, True])
    assert among(seen, np.array([3, 1, 0])).tolist() == [2, 0]
    assert places(seen, np.array([[3, 0], [2, 2]])).tolist() == [[2, 0], [1, 1]]
    table = pd.DataFrame({"a": [1, 2]})
    assert there(table).tolist() == [True, True]
    assert there(table.assign(**{SEEN: [False, True]})).tolist() == [False, True]
