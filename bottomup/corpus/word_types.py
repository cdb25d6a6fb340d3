"""The words of a token file by type: words that are written alike have the same number."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from tokenizers import Tokenizer

from bottomup.corpus.bpe import WORD_START
from bottomup.corpus.tokens import NO_WORD, TokenFile


@dataclass(frozen=True)
class Words:
    """The words of a text, in its order.

    sentences: the sentence of each word. places: the word's number in its sentence. types: the
    number of its form. All `[n_words]`. forms: the written types, `[n_types]`.
    """

    sentences: np.ndarray
    places: np.ndarray
    types: np.ndarray
    forms: np.ndarray


def words_of(text: TokenFile, tokenizer: Tokenizer) -> Words:
    """The words of a text, spelled as their sub-words of `tokenizer` together."""
    words, ids = np.asarray(text.words), np.asarray(text.ids)
    sentences = np.repeat(np.arange(len(text), dtype=np.int32), text.lengths)
    # </s> is between the last word of a sentence and the first of the next one.
    ends = np.flatnonzero(np.append(words[1:] != words[:-1], True)) + 1
    starts = np.append(0, ends[:-1])
    inside = words[starts] != NO_WORD
    starts, lengths = starts[inside], (ends - starts)[inside]
    types = np.empty(len(starts), dtype=np.int32)
    written: list[str] = []
    for length in np.unique(lengths):
        some = lengths == length
        rows = ids[starts[some, None] + np.arange(length)]
        distinct, numbers = _distinct(rows)
        types[some] = len(written) + numbers
        written += [
            "".join(str(tokenizer.id_to_token(i)) for i in row) for row in distinct.tolist()
        ]
    numbers, forms = pd.factorize(np.array([s.removeprefix(WORD_START) for s in written], object))
    return Words(sentences[starts], words[starts], numbers[types], forms)


def _distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows of ids, sorted, and the place of each row among them; as np.unique, which
    takes several times as long."""
    places = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        places, _ = pd.factorize(places * (column.max() + 1) + column, sort=True)
    _, first = np.unique(places, return_index=True)
    return rows[first], places
