"""One code for each language."""

import pytest
from icu4py.locale import Locale

from bottomup.core.languages import SHORT, canonical, short
from bottomup.corpus.bpe import ELIDING_LANGUAGES
from bottomup.corpus.detokenization import GUESSED
from bottomup.corpus.segmentation import UNSPACED
from bottomup.corpus.sources import libreoffice_help, mtdata


def test_what_means_something_here_has_no_other_code():
    codes = {GUESSED, *ELIDING_LANGUAGES, *UNSPACED, *libreoffice_help.TAGS, *mtdata.CODES}
    assert {canonical(code) for code in codes} == codes
    assert {short: canonical(long) for short, long in mtdata.CODES.items()} == {
        code: code for code in mtdata.CODES
    }


@pytest.mark.parametrize(
    ("code", "known"),
    [("jpn", "ja"), ("ger_AT", "de_AT"), ("arb", "ar"), ("yue", "yue"), ("hsb", "hsb")],
)
def test_the_shortest_code(code, known):
    assert canonical(code) == known
    if code == known:
        assert short(code) == code
        return
    with pytest.raises(ValueError, match=f"allowed: {known}, its shortest code"):
        short(code)


def test_codes_beside_those_of_icu_are_needed():
    assert not [code for code in SHORT if Locale(code).language != code]


def test_no_code_of_three_letters_has_one_of_two():
    """As Unicode's CLDR knows them; Sphinx brings its data."""
    aliases = pytest.importorskip("babel.core").get_global("language_aliases")
    shorter = {code for code, other in aliases.items() if len(other.partition("_")[0]) == 2}
    assert {code for code in shorter if len(canonical(code)) > 2} == set()
