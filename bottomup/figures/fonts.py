"""Fonts for the characters of a figure, such as those of Chinese words."""

import logging
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from matplotlib.font_manager import (
    FontEntry,
    FontProperties,
    findfont,
    findSystemFonts,
    fontManager,
    get_font,
)
from matplotlib.text import Text

log = logging.getLogger(__name__)

SHOWN = 10  # characters without a font


def find_fonts(figure: Figure) -> None:
    """Let the texts of a figure have their characters, such as Chinese words, from any font of the
    system that has them; warn of those that none has."""
    texts = figure.findobj(Text)
    needed = {ord(c) for text in texts for c in text.get_text() if not c.isspace()}
    families = [*matplotlib.rcParams["font.family"]]
    needed -= get_font(findfont(FontProperties(family=families))).get_charmap().keys()
    having = [
        (needed & get_font(font.fname).get_charmap().keys(), font.name)
        for font in (_fonts() if needed else ())
    ]
    # First those with most characters, so that few styles are mixed.
    for has, name in sorted(having, key=lambda each: -len(each[0])):
        if needed & has:
            families.append(name)
            needed -= has
    for text in texts if len(families) > 1 else ():
        text.set_fontfamily(families)
    if needed:
        some = "".join(map(chr, sorted(needed)))[:SHOWN]
        log.warning(
            "no font on this machine has the characters %s, which are drawn as boxes; install one "
            "(Debian, Ubuntu: fonts-noto-core, fonts-noto-cjk; for emoji fonts-symbola, since "
            "colored ones cannot be drawn), delete this figure and run again",
            some,
        )


def _fonts() -> Iterator[FontEntry]:
    """All fonts but the one that has a box for each character.

    Matplotlib keeps its list from the first time that it runs; so at the end come those that the
    system has got since.
    """
    listed = [
        font
        for font in fontManager.ttflist
        if not font.name.startswith("Last Resort") and Path(font.fname).exists()
    ]
    yield from sorted(listed, key=lambda font: (font.name, font.weight, font.fname))
    for path in sorted({*findSystemFonts()} - {font.fname for font in listed}):
        n = len(fontManager.ttflist)
        with suppress(Exception):  # of all kinds, for what is damaged or a bitmap
            fontManager.addfont(path)
        yield from fontManager.ttflist[n : n + 1]
