"""One code for each language."""

import pytest

from bottomup.core.languages import canonical, script, short
from bottomup.corpus.bpe import DOTTED_I_LANGUAGES, DOTTED_LANGUAGES, ELIDING_LANGUAGES
from bottomup.corpus.detokenization import GUESSED
from bottomup.corpus.sources import libreoffice_help


def test_what_means_something_here_has_no_other_code():
    codes = {GUESSED, *ELIDING_LANGUAGES, *DOTTED_LANGUAGES, *DOTTED_I_LANGUAGES}
    codes |= {*libreoffice_help.TAGS}
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
        ("sq_XK", "sq_XK"),
        ("en_UK", "en_GB"),
        # Whose usual region is no part of the code.
        ("cnr", "sr"),
        ("prs", "fa"),
    ],
)
def test_the_shortest_code(code, known):
    assert canonical(code) == known
    if code == known:
        assert short(code) == code
        return
    with pytest.raises(ValueError, match=f"allowed: {known}, its shortest code"):
        short(code)


# Countries, reserved codes, and those of ISO 639-2 for what is unknown, many, none or private.
@pytest.mark.parametrize(
    "code",
    ["jp", "cn", "qq", "xx", "und", "mul", "mis", "zxx", "qaa", "qtz", "en_XX", "en_ZZ", "en_QQ"],
)
def test_what_is_no_language(code):
    with pytest.raises(ValueError, match="allowed: a language of ISO 639 such as ja"):
        short(code)


def test_the_script_of_a_language():
    codes = "en de_AT ru zh zh_TW yue wuu ja ko th lo km my bo dz he yi"
    scripts = "Latn Latn Cyrl Hans Hans Hant Hans Jpan Kore Thai Laoo Khmr Mymr Tibt Tibt Hebr Hebr"
    assert [script(code) for code in codes.split()] == scripts.split()
