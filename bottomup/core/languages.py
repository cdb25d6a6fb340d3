"""Codes of languages, one for each (of two letters where there is one), and their scripts."""

from functools import cache


def canonical(language: str) -> str:
    """The code by which a language is known here, with its region: zh for zho, chi and cmn."""
    from langcodes import Language, standardize_tag  # late: it takes a tenth of a second

    code, *region = language.split("_")
    known = Language.get(standardize_tag(code, macro=True)).language or code
    return "_".join([known, *region])


def short(language: str) -> str:
    """`language`, if it is the code by which it is known."""
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
