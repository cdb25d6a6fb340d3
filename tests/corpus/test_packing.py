import itertools

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bottomup.core.errors import UserError
from bottomup.corpus.cleaning import clean, joined
from bottomup.corpus.packing import packed
from bottomup.corpus.segmentation import unmarked, words
from bottomup.corpus.splits import split

SIZES = {"seed": 1, "test_words": 2, "dev_words": 2, "near_duplicates": "keep"}


def table(*rows):
    pairs = pd.DataFrame(rows, columns=["document", "source", "target"])
    return pairs.assign(origin="files", raw_row=range(len(rows)))


def test_sentences_of_a_page_are_joined_until_one_side_is_full():
    pairs = table(
        ("a", "one two", "eins zwei"),
        ("a", "three", "drei"),
        ("a", "four", "vier und noch"),  # the target would have six words
        ("a", "five", "acht"),
        ("b", "six", "sechs"),
        ("a", "seven", "sieben"),  # of the first page, but not next to it
    )
    found = packed(pairs, 4)
    assert found["source"].tolist() == ["one two three", "four five", "six", "seven"]
    assert found["target"].tolist() == ["eins zwei drei", "vier und noch acht", "sechs", "sieben"]
    assert found["document"].tolist() == ["a", "a", "b", "a"]
    assert list(found) == list(pairs)


def test_sentences_between_which_one_was_dropped_are_not_joined():
    """Neither by cleaning nor as a repeat of other text."""
    texts = ["Click the button.", "Note", "The dialog opens.", "It has two fields."]
    raw = pd.DataFrame({"document": "page", "source": texts, "target": [f"x {t}" for t in texts]})
    cleaned, _, _ = clean(joined({"files": raw}), ["en", "de"], 2, 100, 3.0)
    found = packed(cleaned, 100)
    assert found["source"].tolist() == [texts[0], f"{texts[2]} {texts[3]}"]


def test_words_of_languages_without_spaces_get_no_space_between_sentences():
    texts = ["请单击文件菜单。", "他们去了商店。"]
    raw = pd.DataFrame({"document": "page", "source": ["Click it now.", "They went away."]})
    raw = raw.assign(target=texts)
    cleaned, _, _ = clean(joined({"files": raw}), ["en", "zh"], 2, 100, 9.0)
    [passage] = packed(cleaned, 100).to_dict("records")
    assert passage["source"] == "Click it now. They went away."
    assert unmarked(passage["target"]) == "".join(texts)
    assert words(passage["target"]) == [word for text in cleaned["target"] for word in words(text)]


@pytest.mark.parametrize(
    ("language", "texts", "expected"),
    [
        ("th", ["ภาษาไทยเปิดไฟล์", "เปิดไฟล์ใหม่"], "ภาษาไทยเปิดไฟล์ เปิดไฟล์ใหม่"),
        ("zh", ["打开 Calc", "Writer 文件。”", "他们去了。"], "打开 Calc Writer 文件。”他们去了。"),
    ],
)
def test_sentences_have_the_space_between_them_that_their_language_writes(
    language, texts, expected
):
    raw = pd.DataFrame({"document": "page", "source": texts})
    cleaned, _, _ = clean(joined({"files": raw}), [language], 2, 100, 9.0)
    [passage] = packed(cleaned, 100)["source"]
    assert unmarked(passage) == expected
    assert words(passage) == [word for text in cleaned["source"] for word in words(text)]


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 9)), min_size=1),
    st.integers(2, 20),
)
def test_no_word_is_lost_and_no_two_passages_fit_into_one(rows, most):
    pairs = table(*((name, "x" + " x" * n, "y") for name, n in rows))
    found = packed(pairs, most)
    for side in ("source", "target"):
        assert " ".join(found[side]) == " ".join(pairs[side])
    for (_, first), (_, second) in itertools.pairwise(found.iterrows()):
        if first["document"] == second["document"]:
            assert len(f"{first['source']} {second['source']}".split()) > most


def test_splits_are_of_sentences_and_then_packed():
    pairs = table(*((f"page{i // 4}", f"word{i} word{i}", f"wort{i}") for i in range(40)))
    single, _ = split(pairs, **SIZES, packed_words=None)
    passages, counts = split(pairs, **SIZES, packed_words=8)
    for name, of in single.items():
        assert " ".join(passages[name]["source"]) == " ".join(of["source"])
        assert len(passages[name]) == len(of) / 4
    assert (
        counts["pairs"].tolist() == [len(passages[name]) for name in ("test", "dev", "train")][::-1]
    )


def test_text_without_documents_is_refused():
    pairs = table(*((f"line{i}", f"word{i} word", "wort") for i in range(9)))
    with pytest.raises(UserError, match="packed_words: no document of this text has two"):
        split(pairs, **SIZES, packed_words=8)


def test_where_cleaning_leaves_no_text_documents_are_not_to_blame():
    raw = pd.DataFrame({"document": "page", "source": ["Click it.", "Close it."]})
    cleaned, _, _ = clean(joined({"files": raw}), ["en"], 3, 100, 3.0)
    with pytest.raises(UserError, match=r"leave no text to train on.*step too_short dropped 2"):
        split(cleaned, **SIZES, packed_words=8)
