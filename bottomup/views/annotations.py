"""The annotation of occurrences: each gets that of the word to which it belongs."""

import numpy as np
import pandas as pd

from bottomup.core.errors import UserError
from bottomup.corpus.tokens import TokenFile

COLUMNS = ["tag", "relation", "ccg", "ccg_left", "ccg_right", "ccg_source"]


def annotations(
    table: pd.DataFrame, text: TokenFile, annotation: pd.DataFrame | None
) -> pd.DataFrame:
    """A row for each occurrence of `table`, in its order.

    table, text: those of a reading (see `occurrences.Reading`). annotation: the words of the split
    that the reading was drawn from, as scripts/annotate_words.py writes them; None without one.

    Columns: word (index in its sentence); first_subword and last_subword (whether the occurrence
    begins and ends its word, see `standing`); and those of tag, relation, ccg, ccg_left, ccg_right
    and ccg_source that the annotation has. All sub-words of a word share these.

    Raises UserError if the annotation lacks a word.
    """
    index = text.offsets[table["text"]] + table["position"].to_numpy()
    words = text.words[index]
    begins = (table["position"].to_numpy() == 0) | (words != text.words[index - 1])
    ends = words != text.words[index + 1]  # </s> also ends the last word
    known = {"word": words.astype(np.int32), "first_subword": begins, "last_subword": ends}
    word_table = pd.DataFrame(known)
    if annotation is None:
        return word_table
    keys = pd.MultiIndex.from_arrays([table["sentence"], words])
    rows = pd.MultiIndex.from_frame(annotation[["sentence", "word"]]).get_indexer(keys)
    if (rows < 0).any():
        sentence, word = keys[rows < 0][0]
        raise UserError(
            f"no annotation of word {word} of sentence {sentence}; the annotation must be of the "
            "split that the occurrences are drawn from: annotate its words again"
        )
    columns = annotation[[name for name in COLUMNS if name in annotation]]
    return pd.concat([word_table, columns.take(rows).reset_index(drop=True)], axis=1)


def standing(occurrences: pd.DataFrame, backward: bool) -> pd.DataFrame:
    """Occurrences with the column stands_for_word: at which the model has read the whole word.

    That is the last sub-word, and the first for a model that reads from the end (`backward`).
    """
    column = "first_subword" if backward else "last_subword"
    return occurrences.assign(stands_for_word=occurrences[column])
