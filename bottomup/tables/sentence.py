"""The words of one sentence against each other, at each layer of one subject.

A word is seen through its sub-words as `views.pooling` says, as in the views.
"""

from typing import TYPE_CHECKING

import pandas as pd

from bottomup.core.settings import Section, key
from bottomup.tables import Table

if TYPE_CHECKING:
    from bottomup.plan.subjects import Subjects
    from bottomup.subjects.seen import Seen

ENGLISH = "Click the button to open the file in the dialog."


def first_of_all(subjects: "Subjects") -> list[str]:
    """The first run of all that is looked at; none if the sentence is in another language than the
    text."""
    study = subjects.study
    if study.source_language() != "en" and study.measures.sentence.text == ENGLISH:
        return []
    return subjects.first_runs(subjects.looked_at)


TABLE = Table(
    "run",
    reads=("model", "views", "written"),
    sees="subjects",
    parts=first_of_all,
    options=lambda slices, of: {
        **dict(slices.study.measures.sentence),
        "language": slices.languages["source"],
        "pooling": slices.study.views.pooling,
    },
    writes=("csv",),
    memory=(1000, 0.5, 4),
    minutes=(10, 0.01),
    category="5 What a layer represents",
)
COLUMNS = ["layer", "place_a", "word_a", "place_b", "word_b", "cosine"]


class Keys(Section):
    """The words of one sentence against each other, for the first seed."""

    text: str = key(
        "the sentence, in the source language; the default is of words of the studies that are "
        "here, and where the source language is not English there is no picture without another",
        default=ENGLISH,
    )


class Settings(Keys):
    """Also the language of the sentence, and what stands for a word."""

    language: str
    pooling: str


def rows(seen: "Seen", settings: Settings) -> pd.DataFrame:
    import numpy as np

    from bottomup.core.files.arrays import load_array
    from bottomup.corpus.cleaning import cleaned
    from bottomup.measures.sentence import against_each_other, words_of
    from bottomup.views.values import mean_and_deviation

    written = seen.paths("written")  # the text, and the tokenizer whose words all subjects see
    text = cleaned(settings.text, settings.language)
    tokenizer = written[1] if written else None
    words, layers = words_of(seen.subject, text, tokenizer, settings.pooling)
    views = load_array(seen.needed("views"), mapped=True)
    seen_words = np.flatnonzero(~np.isnan(views[0, :, 0]))  # words that this subject sees
    centers = [mean_and_deviation(view[seen_words])[0] for view in views]
    return against_each_other(words, layers, centers)[COLUMNS]
