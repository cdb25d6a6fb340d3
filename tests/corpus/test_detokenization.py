import numpy as np
import pytest
from moses_words import words

from bottomup.corpus.detokenization import detokenize

TYPICAL = {
    "en": [
        "Don't stop: it's John’s (or yours), isn't it?",
        "He said \"yes, 'maybe'\" and left...",
        "Save file_name.txt to C:\\new and/or press Ctrl+S; costs $1,000.50 or 5%.",
        "“Well-known” names, e.g. [a] – i.e. #3 – are <b>.",
    ],
    "de": [
        "Klicken Sie auf „Datei – Öffnen…“, z.B. um 5 % von »allem« zu sehen!",
        'Der Befehl "Ein-/Ausgabe" (neu) gilt für alle.',
    ],
    "fr": ["L'homme qu'il n’aime pas : « oui » ou non ? (C'est 5 % !)"],
    "ru": ["Меню «Файл» — это, т.е. список (5%)."],
}


@pytest.mark.parametrize(
    ("language", "text"), [(language, text) for language in TYPICAL for text in TYPICAL[language]]
)
def test_ordinary_text_comes_back(language, text):
    assert detokenize(words(text, language), language) == text


@pytest.mark.parametrize("language", TYPICAL)
def test_words_of_the_result_are_the_same_words(language):
    draw = np.random.default_rng(2)
    pieces = [*"abcé123.,'’-_/()[]{}<>\"%…„“”«»+*=:;!?$#\\", "e.g.", "...", "don't", "l'an", " "]
    for _ in range(1000):
        cut = words("".join(draw.choice(pieces, size=12)), language)
        assert words(detokenize(cut, language), language) == cut


def test_nothing_gives_nothing():
    assert detokenize("", "en") == ""
