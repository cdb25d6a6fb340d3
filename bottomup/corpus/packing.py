"""Passages: sentences of a document that follow each other, read as one.

A model that reads single sentences seldom sees a token again, and has little use for a head that
looks far back.
"""

import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from bottomup.corpus.cleaning import RAW_ROW, SIDES
from bottomup.corpus.segmentation import MARK, words


def packed(pairs: pd.DataFrame, most: int) -> pd.DataFrame:
    """The pairs, joined where they follow each other in a document, as long as neither side exceeds
    `most` words; a longer sentence stays alone.

    They follow each other if they did so in the raw text, before anything was dropped. Between them
    is a space; in a side whose words have marks between them, a mark between wide characters, as
    those of Chinese and Japanese are: Thai has no spaces between words, but between sentences.
    Other columns are those of the first pair.
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
        aggregation[side] = _joined if pairs[side].str.contains(MARK).any() else " ".join
    return pairs.groupby(first).agg(aggregation).reset_index(drop=True)


def _joined(texts: Iterable[str]) -> str:
    """Sentences in a language whose words have marks between them, as one text."""
    passage, *others = texts
    for text in others:
        passage += (MARK if _is_wide(passage[-1]) and _is_wide(text[0]) else " ") + text
    return passage


def _is_wide(character: str) -> bool:
    """Whether it is as wide as a Chinese character; of quotation marks, fonts decide."""
    width = unicodedata.east_asian_width(character)
    return width in "WF" or (width == "A" and unicodedata.category(character)[0] == "P")
