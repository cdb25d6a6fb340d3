"""Text in many languages, from the cleaning to the words, the sub-words, and back to the text."""

from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bottomup.core.languages import script
from bottomup.corpus.bpe import learn
from bottomup.corpus.cleaning import clean, joined, normalize
from bottomup.corpus.detokenization import detokenize, keeps_spaces
from bottomup.corpus.segmentation import MARK, UNSPACED, base, marked, unmarked, words
from bottomup.corpus.splits import near
from bottomup.corpus.words import spans
from bottomup.measures.quality import translation_quality

LINES = (Path(__file__).parent / "languages.tsv").read_text(encoding="utf-8").splitlines()
TEXTS: dict[str, list[str]] = {}
for line in LINES:
    language, text = line.split("\t")
    TEXTS.setdefault(language, []).append(text)
TOKENIZERS = {"zh": "zh", "yue": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
TOKENIZERS |= {language: "char" for language in ("th", "lo", "km", "my", "bo")}


def prepared(texts, language):
    return [marked(normalize(text), language) for text in texts]


def tokenizer_of(texts, language):
    spaces = keeps_spaces("target", language)
    return learn([prepared(texts, language)], 50, True, language, spaces)


def translated(tokenizer, texts, language):
    """As a perfect model would."""
    ids = [tokenizer.encode(text).ids for text in prepared(texts, language)]
    return [detokenize(tokenizer.decode(of_text), language) for of_text in ids]


def lower(text, language):
    """Python's lower case, which knows the sigmas of Greek, and no language."""
    if language == "tr":
        text = text.replace("İ", "i").replace("I", "ı")
    return text.lower()


def test_there_are_thirty_languages_of_both_kinds():
    assert len(TEXTS) >= 40 and {*map(script, TEXTS)} >= UNSPACED


@pytest.mark.parametrize("language", TEXTS)
def test_a_perfect_translation_has_100(language):
    texts = TEXTS[language]
    found = translated(tokenizer_of(texts, language), texts, language)
    references = [lower(unmarked(text), language) for text in prepared(texts, language)]
    blocks = np.zeros(len(texts), dtype=int)
    scores = translation_quality(found, references, blocks, 1, language, lowercase=True)
    assert [scores[name].value for name in ("bleu", "chrf")] == pytest.approx([100, 100])
    expected = TOKENIZERS.get(base(language), "13a")
    assert f"|tok:{expected}" in scores["bleu"].signature


ALPHABET = sorted({*"".join(chain(*TEXTS.values()))})
PIECES = [*ALPHABET, *"      ", "...", "e.g.", "ΟΣ", "l'", "'s", "▁", "\u0301", "ſ"]


@given(
    st.lists(st.sampled_from(PIECES) | st.characters(codec="utf-8"), max_size=30).map("".join),
    st.sampled_from(["en", "fr", "cs", "el", "tr", "ar", "ko", "zh", "ja", "th"]),
)
@settings(deadline=None, max_examples=500)
def test_any_mixture_of_characters_comes_back(mixture, language):
    """Except the character that stands for a word's start. Of the sigmas, only Greek text says
    which is which."""
    text = normalize(mixture)
    [found] = translated(tokenizer_of([mixture], language), [mixture], language)
    expected = lower(text.replace("▁", "_"), language)
    assert found.replace("ς", "σ") == expected.replace("ς", "σ")


LOWER = [  # by hand
    ("tr", "IŞIK Işık İPTAL iptal", "ışık ışık iptal iptal"),
    ("az", "QIZIL İş", "qızıl iş"),
    ("tr", "I\u0307ptal", "iptal"),  # the dot apart, as in NFD
    ("en", "IN In", "in in"),
    ("el", "ΗΜΕΡΕΣ ΣΑΣ, Σ.", "ημερες σας, σ."),
]


@pytest.mark.parametrize("spaces", [False, True])
@pytest.mark.parametrize(("language", "text", "expected"), LOWER)
def test_lower_case_is_that_of_the_language_on_both_sides(language, text, expected, spaces):
    tokenizer = learn([[text]], 20, True, language, spaces)
    assert tokenizer.normalizer.normalize_str(text) == expected
    cased = learn([[text]], 20, False, language, spaces)
    assert cased.normalizer.normalize_str(text) == normalize(text)


WORDS = [  # checked by hand
    ("zh", "请单击“文件”菜单。", ["请", "单击“", "文件”", "菜单。"]),
    ("zh", "打开 file-name.txt 文件", ["打开", "file-name.txt", "文件"]),
    ("zh", "“文件” (文件) 菜单", ["“文件”", "(文件)", "菜单"]),
    ("ja", "「テスト」です。", ["「テスト」", "です。"]),
    ("nan", "Bân-lâm-ōe ê lâng", ["Bân-lâm-ōe", "ê", "lâng"]),
    ("ja", "ファイルを開きます。", ["ファイル", "を", "開き", "ます。"]),
    ("th", "ภาษาไทย 5 คน", ["ภาษา", "ไทย", "5", "คน"]),
    ("bo", "བོད་སྐད་ཡིན།", ["བོད་", "སྐད་", "ཡིན།"]),
    ("ko", "책을 읽는다.", ["책을", "읽는다."]),
    ("en", "打开文件 a-b", ["打开文件", "a-b"]),
]


@pytest.mark.parametrize(("language", "text", "expected"), WORDS)
def test_words(language, text, expected):
    assert words(marked(text, language)) == expected
    assert unmarked(marked(text, language)) == text


def test_words_are_found_in_the_text_without_marks():
    text = marked("请单击“文件”菜单。", "zh")
    tokenizer = learn([[text]], 20, True, "zh")
    [(shown, places)] = spans([text], tokenizer)
    assert shown == "请单击“文件”菜单。"
    found = [shown[start:end] for start, end in places]
    assert found == ["请", "单击", "“", "文件", "”", "菜单", "。"]


def test_cleaning_counts_words_of_chinese_and_drops_what_it_would_drop_with_spaces():
    texts = [
        ("Please click the File menu to open it.", "请单击“文件”菜单以打开它。"),
        (
            "Click here to see it.",
            "单击此处可以查看它的全部内容，包括所有文件、菜单、按钮和窗口。" * 2,
        ),
    ]
    rows = [("page", str(i), *sides) for i, sides in enumerate(texts)]
    pairs = pd.DataFrame(rows, columns=["document", "element", "source", "target"], dtype=str)
    kept, counts, _ = clean(joined({"o": pairs}), ["en", "zh"], 4, 100, 3.0)
    assert kept["source"].tolist() == [texts[0][0]]
    assert counts.set_index("step")["dropped"]["length_ratio"] == 1
    assert MARK in kept["target"][0] and unmarked(kept["target"][0]) == texts[0][1]


def test_near_duplicates_in_a_language_without_spaces_differ_by_a_word():
    held_out, trained = (
        pd.Series([marked(text, "zh") for text in texts])
        for texts in (
            ["请单击“文件”菜单打开窗口。", "请保存全部文件。"],
            ["请单击文件菜单关闭窗口。"],
        )
    )
    assert near(held_out, trained).tolist() == [True, False]
