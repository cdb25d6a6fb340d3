"""What is known of the words of a text: part of speech, dependency relation and head.

A module of this folder holds `annotated(text, tokenizer, told_by)`. It returns the words of the
source side of a split, as the tokenizer cuts them, in a table with `COLUMNS` of these `TYPES`.
told_by: where the annotation comes from, a pipeline's name or a treebank's folder.
"""

import numpy as np
import pandas as pd

from bottomup.core.errors import UserError
from bottomup.corpus.tokens import TokenFile

COLUMNS = ["sentence", "word", "text", "tag", "relation", "head"]
TYPES = {"sentence": np.int32, "word": np.int32, "head": np.int32}


def universal(relation: str) -> str:
    """A relation of Universal Dependencies without its subtype, which is specific to a language.

    Passive relations stay separate, as in the English pipelines and in the paper on heads.
    """
    name, _, subtype = relation.partition(":")
    return relation if subtype == "pass" else name


def require_words_of(tokens: TokenFile, annotation: pd.DataFrame) -> None:
    """Raise UserError unless the annotated words are those of the token file, in the same order."""
    begins = tokens.begins
    if not np.array_equal(tokens.words[begins], annotation["word"]):
        raise UserError(
            f"the token file has {begins.sum()} words, but the tokenizer cuts the text into "
            f"{len(annotation)}; file and text must be of the same split: encode the text again"
        )
