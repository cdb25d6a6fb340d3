import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from bottomup.core.errors import UserError
from bottomup.corpus.specials import EOS
from bottomup.corpus.tokens import TokenFile
from bottomup.views.annotations import annotations, standing
from bottomup.views.occurrences import plain

# Words of two sub-words: the second of sentence 0, the first and the last of sentence 2.
TOKENS = TokenFile(
    ids=np.array([10, 11, 12, EOS, 13, EOS, 14, 15, 16, 17, 18, EOS], dtype=np.int32),
    words=np.array([0, 1, 1, -1, 0, -1, 0, 0, 1, 2, 2, -1], dtype=np.int32),
    offsets=np.array([0, 4, 6, 12]),
)
RANKS = np.arange(20)


def annotation_of(sentences, words):
    """Of words that are named by their sentence and place."""
    names = [f"{sentence}.{word}" for sentence, word in zip(sentences, words, strict=True)]
    columns = ["text", "tag", "relation", "ccg", "ccg_left", "ccg_right"]
    table = pd.DataFrame({column: [f"{column} {name}" for name in names] for column in columns})
    table["ccg_source"] = "derived"
    table.insert(0, "sentence", np.array(sentences, dtype=np.int32))
    table.insert(1, "word", np.array(words, dtype=np.int32))
    return table


ANNOTATION = annotation_of([0, 0, 1, 2, 2, 2], [0, 1, 0, 0, 1, 2])


WITHOUT_CATEGORIES = ANNOTATION.drop(columns=["ccg", "ccg_left", "ccg_right", "ccg_source"])


def annotated(sentences, annotation=ANNOTATION):
    reading = plain(TOKENS, np.array(sentences, dtype=int), RANKS)
    return annotations(reading.table, reading.text, annotation)


def test_sub_words_have_the_annotation_of_their_word():
    found = annotated([0, 1, 2])
    names = ["0.0", "0.1", "0.1", "1.0", "2.0", "2.0", "2.1", "2.2", "2.2"]
    for column in ("tag", "relation", "ccg", "ccg_left", "ccg_right"):
        assert found[column].tolist() == [f"{column} {name}" for name in names]
    assert found["word"].tolist() == [0, 1, 1, 0, 0, 0, 1, 2, 2]
    assert found["word"].dtype == np.int32
    assert set(found["ccg_source"]) == {"derived"}


def test_the_first_and_the_last_sub_word_of_each_word_are_marked():
    found = annotated([0, 1, 2])
    assert np.flatnonzero(~found["last_subword"]).tolist() == [1, 4, 7]
    assert np.flatnonzero(~found["first_subword"]).tolist() == [2, 5, 8]
    assert found["last_subword"].sum() == found["first_subword"].sum() == len(ANNOTATION)
    for backward, name in ((False, "last_subword"), (True, "first_subword")):
        assert standing(found, backward)["stands_for_word"].equals(found[name])


def test_sentences_of_the_split_that_were_drawn():
    """The table counts sentences of the split, its text those that were drawn."""
    found = annotated([1, 2])
    names = ["1.0", "2.0", "2.0", "2.1", "2.2", "2.2"]
    assert found["tag"].tolist() == [f"tag {name}" for name in names]
    assert np.flatnonzero(~found["last_subword"]).tolist() == [1, 4]


def test_what_is_not_known_of_words_has_no_column():
    found = annotated([0, 2])
    of_words = ["word", "first_subword", "last_subword"]
    assert_frame_equal(annotated([0, 2], None), found[of_words])
    some = annotated([0, 2], WITHOUT_CATEGORIES)
    assert_frame_equal(some, found[[*of_words, "tag", "relation"]])


def test_no_occurrences():
    assert annotated([]).empty


@pytest.mark.parametrize(
    "annotation",
    [ANNOTATION[:-1], ANNOTATION[1:], ANNOTATION[ANNOTATION["sentence"] != 1], ANNOTATION[:0]],
)
def test_words_without_annotation_are_a_mistake(annotation):
    with pytest.raises(UserError, match=r"no annotation of word \d of sentence \d; .*"):
        annotated([0, 1, 2], annotation)


def test_program(run_script, tmp_path):
    reading = plain(TOKENS, np.array([0, 2]), RANKS)
    reading.table.to_parquet(tmp_path / "occurrences.parquet")
    reading.text.save(tmp_path)
    ANNOTATION.assign(ccg_right="").to_parquet(tmp_path / "annotation.parquet")
    run_script(
        "annotate_occurrences",
        {},
        *("--annotation", tmp_path / "annotation.parquet"),
        *("--occurrences", tmp_path / "occurrences.parquet"),
        *("--text", tmp_path),
        *("--annotations", tmp_path / "annotations.parquet"),
    )
    found = pd.read_parquet(tmp_path / "annotations.parquet")
    assert_frame_equal(found, annotated([0, 2]).assign(ccg_right=""))
    assert list(found.columns) == [
        *("word", "first_subword", "last_subword", "tag", "relation"),
        *("ccg", "ccg_left", "ccg_right", "ccg_source"),
    ]
