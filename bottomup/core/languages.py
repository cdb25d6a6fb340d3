"""Codes of languages, one for each (of two letters where there is one), and their scripts."""

import re
from functools import cache

# Codes of ISO 639 that are no language, and of ISO 3166 that are no region: for what is unknown,
# for many, for none, for private use. XK is Kosovo.
NONE = re.compile("und|mul|mis|zxx|q[a-t][a-z]|[a-z]+_(AA|Q[M-Z]|X[A-JL-Z]|ZZ)")


def canonical(language: str) -> str:
    """The code by which a language is known here, with its region: zh for zho, chi and cmn; en_GB
    for en_UK."""
    from langcodes import Language, standardize_tag  # late: it takes a tenth of a second

    code, _, region = language.partition("_")
    known = Language.get(standardize_tag(code, macro=True)).language or code
    return f"{known}_{Language.get(language).territory}" if region else known


def short(language: str) -> str:
    """`language`, if there is one of this code, and it is the code by which it is known."""
    from langcodes import Language

    if not Language.get(language).is_valid() or NONE.fullmatch(language):
        raise ValueError("allowed: a language of ISO 639 such as ja, with a region such as pt_BR")
    if (code := canonical(language)) != language:
        raise ValueError(f"allowed: {code}, its shortest code")
    return language


@cache
def script(language: str) -> str | None:
    """The script in which a language is most likely written (ISO 15924): Hans for zh, Hant for yue.

    A region in the code does not count.
    """
    from langcodes import Language

    return Language.get(language.partition("_")[0]).maximize().script
