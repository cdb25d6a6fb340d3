"""The annotation of the occurrences: of each, that of the word it is a sub-word of."""

import numpy as np
import pandas as pd

from bottomup.corpus.tokens import TokenFile
from bottomup.errors import UserError

COLUMNS = ["tag", "relation", "ccg", "ccg_left", "ccg_right", "ccg_source"]


def annotations(table: pd.DataFrame, text: TokenFile, annotation: pd.DataFrame) -> pd.DataFrame:
    """A row for each occurrence of `table`, in its order.

    table and text: of a reading (see `occurrences.Reading`); annotation: of the words of the split
    that it was drawn from, as scripts/annotate_words.py writes it.

    Columns: word (index in its sentence), last_subword (whether the occurrence ends its word; that
    one stands for the word, since an LM has read all of it only there), tag, relation, ccg,
    ccg_left, ccg_right and ccg_source, which all sub-words of a word share.

    Raises UserError where the annotation lacks a word.
    """
    index = text.offsets[table["text"]] + table["position"].to_numpy()
    words = text.words[index]
    keys = pd.MultiIndex.from_arrays([table["sentence"], words])
    rows = pd.MultiIndex.from_frame(annotation[["sentence", "word"]]).get_indexer(keys)
    if (rows < 0).any():
        sentence, word = keys[rows < 0][0]
        raise UserError(
            f"no annotation of word {word} of sentence {sentence}; the annotation must be of the "
            "split that the occurrences are drawn from: annotate its words again"
        )
    columns = annotation[COLUMNS].take(rows).reset_index(drop=True)
    # </s> ends the last word, too.
    columns.insert(0, "last_subword", words != text.words[index + 1])
    columns.insert(0, "word", words.astype(np.int16))
    return columns
