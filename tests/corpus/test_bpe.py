import json
import subprocess
import sys

import numpy as np
import pytest
from moses_words import words

from bottomup.corpus.bpe import learn
from bottomup.corpus.segmentation import MARK
from bottomup.corpus.specials import EOS, MASK, N_SPECIAL, PAD, UNK

SENTENCES = [
    "Open the file menu, then choose Save As.",
    "The file isn't saved: press Ctrl+S (or wait).",
    "Files are opened, saved and closed in the menu.",
    "Choose a file-name, e.g. menu1.ods, of 1,000.5 KB.",
]
# Checked by hand against the rules of tokenizer.perl.
WORDS = {
    "en": [
        ("Don't stop.", "Don 't stop ."),
        ("It's John’s, from the 1990's", "It 's John ’s , from the 1990 's"),
        ("a 'quoted' word", "a ' quoted ' word"),
        ("costs $1,000.50, not 5,", "costs $ 1,000.50 , not 5 ,"),
        ("a well-known state-of-the-art", "a well-known state-of-the-art"),
        ("yes - or -- no", "yes - or -- no"),
        ("wait... what?!", "wait ... what ? !"),
        ("see e.g. (i.e., U.S. law) etc.", "see e.g. ( i.e. , U.S. law ) etc ."),
        ("in the U.S.", "in the U.S ."),
        ("open file.txt or .net", "open file.txt or .net"),
        ("a_b=c/d", "a _ b = c / d"),
    ],
    "de": [
        ("Über „Datei“ – z.B. die Maus-Taste.", "Über „ Datei “ – z.B. die Maus-Taste ."),
        ("Ein-/Ausgabe, 5 %", "Ein- / Ausgabe , 5 %"),
    ],
    "fr": [("L'homme qu'il n’aime pas", "L' homme qu' il n’ aime pas")],
    "ru": [("«Файл» — это т.е. меню", "« Файл » — это т.е. меню")],
}
# Checked by hand against Unicode's boundaries of words.
WITH_SIGNS_INSIDE = [
    ("fa", "می‌خواهم خانه‌ها.", "می‌خواهم خانه‌ها ."),
    ("fa", "۱۲٫۵ و ۱٬۰۰۰", "۱۲٫۵ و ۱٬۰۰۰"),
    ("hi", "क्‍षत्रिय हिन्दी।", "क्‍षत्रिय हिन्दी ।"),
    ("ml", "അവന്‍ വന്നു", "അവന്‍ വന്നു"),
    ("si", "ශ්‍රී ලංකාව", "ශ්‍රී ලංකාව"),
    ("he", "צה״ל, ג׳ירפה", "צה״ל , ג׳ירפה"),
    ("he", 'ארה"ב, ג\'ירפה: "טוב"', 'ארה"ב , ג\'ירפה : " טוב "'),
    ("yi", 'מ"מ', 'מ"מ'),
    ("hy", "Ի՞նչ, ա՛յդ արեւ֊ելք։", "Ի՞նչ , ա՛յդ արեւ֊ելք ։"),
    ("ca", "col·legi · l'any", "col·legi · l 'any"),
    ("en", "y=a·x", "y = a · x"),
    ("en", "I ❤️ 👩‍👩 it", "I ❤️ 👩‍ 👩 it"),
    ("en", f"a{MARK}b", f"a {MARK} b"),
]


@pytest.fixture(scope="module")
def tokenizer():
    return learn([SENTENCES], merges=60, lowercase=True, language="en")


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [(language, *case) for language, cases in WORDS.items() for case in cases],
)
def test_words_are_those_of_moses(language, text, expected):
    assert words(text, language) == expected


@pytest.mark.parametrize(("language", "text", "expected"), WITH_SIGNS_INSIDE)
def test_words_are_not_cut_at_joiners_and_signs_inside(language, text, expected):
    assert words(text, language) == expected


def test_words_hold_all_characters_but_white_space():
    draw = np.random.default_rng(1)
    alphabet = list("aZ0é1.,'’-_/()\"%… \t\u00a0кß中")
    for language in WORDS:
        for _ in range(200):
            text = "".join(draw.choice(alphabet, size=30))
            assert words(text, language).replace(" ", "") == "".join(text.split())


def test_special_ids(tokenizer):
    names = ["<pad>", "</s>", "<unk>", "<mask>"]
    assert [tokenizer.token_to_id(name) for name in names] == [PAD, EOS, UNK, MASK] == [0, 1, 2, 3]
    assert len(names) == N_SPECIAL


def test_the_vocabulary_is_specials_characters_and_merges(tokenizer):
    model = json.loads(tokenizer.to_str())["model"]
    characters = set("".join(SENTENCES).lower()) - {" "} | {"▁"}
    assert len(model["merges"]) == 60
    assert tokenizer.get_vocab_size() == N_SPECIAL + len(characters) + 60


def test_text_is_lower_cased_if_asked():
    cased = learn([SENTENCES], merges=10, lowercase=False, language="en")
    assert cased.decode(cased.encode("Open Ctrl").ids) == "Open Ctrl"


def test_decoding_gives_the_words(tokenizer):
    for sentence in SENTENCES:
        ids = tokenizer.encode(sentence).ids
        assert ids[-1] == EOS
        assert tokenizer.decode(ids) == words(sentence.lower(), "en")


def test_sub_words_know_their_word(tokenizer):
    encoding = tokenizer.encode("Unopened files, isn't it")
    parts = {}
    for token, word in zip(encoding.tokens[:-1], encoding.word_ids[:-1], strict=True):
        parts[word] = parts.get(word, "") + token
    assert list(parts.values()) == ["▁unopened", "▁files", "▁,", "▁isn", "▁'t", "▁it"]
    assert list(parts) == list(range(6))
    assert encoding.word_ids[-1] is None


def test_unseen_characters_are_unknown_and_the_mark_is_not_read_as_one(tokenizer):
    assert UNK in tokenizer.encode("中").ids
    assert tokenizer.encode("a▁b").tokens == tokenizer.encode("a_b").tokens


def test_learning_is_the_same_in_every_process_and_number_of_threads():
    script = (
        "import sys; from bottomup.corpus.bpe import learn;"
        "texts = [f'{i % 7} tie{i % 5} equal{i % 3} pairs' for i in range(2000)];"
        "sys.stdout.write(learn([texts], 20, True, 'en').to_str())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"RAYON_NUM_THREADS": threads, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for threads in ("1", "2", "4")
    }
    assert len(outputs) == 1


def test_a_language_without_its_own_rule_is_cut_like_english():
    assert words("d'a nie", "pl") == words("d'a nie", "en") == "d 'a nie"
