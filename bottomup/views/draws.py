"""Draws that do not depend on what a model sees.

A model may lack some words: they are cut off, say, or its tokenizer leaves nothing of them. What a
measure draws is then drawn from all that the study has, and what is not seen leaves the draw
afterwards. So a word that one model lacks changes the draw of no other, models share blocks and
controls, and their values can be compared in pairs. A model that lacks nothing has the draw itself.
"""

import numpy as np
import pandas as pd

from bottomup.core.errors import UserError

# The column that says which rows of a table are seen; a table without it has no others.
SEEN = "seen"


def there(table: pd.DataFrame) -> np.ndarray:
    """Which rows of a table are seen, bool `[n]`."""
    return table[SEEN].to_numpy() if SEEN in table else np.ones(len(table), dtype=bool)


def places(seen: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The places of rows, all of them seen, among those that are: a view has no others.

    seen: of all that a study has, which is seen, bool `[n]`. rows: below n.
    """
    return (np.cumsum(seen) - 1)[rows]


def among(seen: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """The places of the drawn rows that are seen; see `places`.

    >>> among(np.array([True, False, True]), np.array([2, 1, 0]))
    array([1, 0])
    """
    return places(seen, drawn[seen[drawn]])


def chosen(random: np.random.Generator, n: int, seen: np.ndarray) -> np.ndarray:
    """The places of up to `n` drawn at random, those of them that are seen, in order.

    Raises UserError if none of them is.
    """
    drawn = random.choice(len(seen), min(n, len(seen)), replace=False)
    found = np.sort(among(seen, drawn))
    if len(drawn) and not len(found):
        raise UserError(
            f"none of {len(drawn)} occurrences that were drawn is seen, as {int(seen.sum())} of "
            f"{len(seen)} are; draw more, or look at a model that sees more words"
        )
    return found
