"""One code for each language."""

import pytest

from bottomup.core.languages import canonical, short
from bottomup.corpus.bpe import ELIDING_LANGUAGES
from bottomup.corpus.detokenization import GUESSED
from bottomup.corpus.segmentation import UNSPACED
from bottomup.corpus.sources import libreoffice_help


def test_what_means_something_here_has_no_other_code():
    codes = {GUESSED, *ELIDING_LANGUAGES, *UNSPACED, *libreoffice_help.TAGS}
    assert {canonical(code) for code in codes} == codes


@pytest.mark.parametrize(
    ("code", "known"),
    [
        ("jpn", "ja"),
        ("ger_AT", "de_AT"),
        ("arb", "ar"),
        ("cmn", "zh"),
        ("nob", "nb"),
        ("iw", "he"),
        ("yue", "yue"),
        ("hsb", "hsb"),
    ],
)
def test_the_shortest_code(code, known):
    assert canonical(code) == known
    if code == known:
        assert short(code) == code
        return
    with pytest.raises(ValueError, match=f"allowed: {known}, its shortest code"):
        short(code)
