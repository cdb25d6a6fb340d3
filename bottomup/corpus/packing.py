"""Passages: sentences of a document that follow each other, read as one.

A model that reads single sentences seldom sees a token again, and has little use for a head that
looks far back.
"""

from typing import Any

import numpy as np
import pandas as pd

from bottomup.corpus.cleaning import RAW_ROW, SIDES
from bottomup.corpus.segmentation import MARK, words


def packed(pairs: pd.DataFrame, most: int) -> pd.DataFrame:
    """The pairs, joined where they follow each other in a document, as long as neither side exceeds
    `most` words; a longer sentence stays alone.

    They follow each other if they did so in the raw text, before anything was dropped. Between them
    is a space, or where words have marks between them, a mark. Other columns are those of the first
    pair.
    """
    sides = [side for side in SIDES if side in pairs]
    lengths = np.array([[len(words(text)) for text in pairs[side]] for side in sides]).T
    first, total = np.zeros(len(pairs), dtype=int), lengths[0] * 0
    documents, raw = pairs["document"].tolist(), pairs[RAW_ROW].tolist()
    for row, length in enumerate(lengths):
        goes_on = row > 0 and documents[row] == documents[row - 1] and raw[row] == raw[row - 1] + 1
        if goes_on and (total + length <= most).all():
            first[row], total = first[row - 1], total + length
        else:
            first[row], total = row, length
    aggregation: dict[Any, Any] = dict.fromkeys(pairs, "first")
    for side in sides:
        marked = pairs[side].str.contains(MARK).any()
        aggregation[side] = (MARK if marked else " ").join
    return pairs.groupby(first).agg(aggregation).reset_index(drop=True)
