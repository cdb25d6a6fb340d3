import numpy as np
import pytest
from moses_words import words

from bottomup.corpus.detokenization import detokenize

TYPICAL = [
    "Klicken Sie auf „Datei – Öffnen…“, z.B. um 5 % von »allem« zu sehen!",
    'Der Befehl "Ein-/Ausgabe" (neu) gilt für alle.',
]


@pytest.mark.parametrize("text", TYPICAL)
def test_ordinary_text_comes_back(text):
    assert detokenize(words(text, "de"), "de") == text


def test_words_of_the_result_are_the_same_words():
    draw = np.random.default_rng(2)
    pieces = [*"abcé123.,'’-_/()[]{}<>\"%…„“”«»+*=:;!?$#\\", "e.g.", "...", "don't", "l'an", " "]
    for _ in range(1000):
        cut = words("".join(draw.choice(pieces, size=12)), "de")
        assert words(detokenize(cut, "de"), "de") == cut


def test_nothing_gives_nothing():
    assert detokenize("", "de") == ""
