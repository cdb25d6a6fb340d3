"""The files in a user's folder, links followed."""

import logging
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

log = logging.getLogger(__name__)


def below(folder: Path, pattern: str = "*") -> list[Path]:
    """The files in a folder and in those below it whose names fit a pattern, in order.

    A link to a folder counts as a folder, unless that folder contains the link. Hidden files and
    folders, whose names begin with a period, are left out: programs make them, for copies or for
    what is no text.
    """
    return sorted(path for path in _all(folder, ()) if fnmatchcase(path.name, pattern))


def _all(folder: Path, above: tuple[str, ...]) -> Iterator[Path]:
    """All files below a folder. above: the real paths of the folders that contain it."""
    within = (*above, os.path.realpath(folder))
    if not os.access(folder, os.R_OK | os.X_OK):
        log.warning("%s may not be read, and its files are left out", folder)
        return
    for name in (name for name in os.listdir(folder) if not name.startswith(".")):
        path = folder / name
        if not is_utf8(name):
            log.warning("%r is left out, since its name is not UTF-8; rename it", str(path))
        elif not os.path.isdir(path):  # Path.is_dir raises an error for a link to itself
            yield path
        elif os.path.realpath(path) not in within:
            yield from _all(path, within)


def is_utf8(text: str) -> bool:
    """Whether a text can be written in UTF-8; one with a lone surrogate, of a byte that was not
    UTF-8, cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def once(files: list[Path]) -> list[Path]:
    """One path for each file, in order: its first that is no link, or else its first."""
    chosen = sorted(files, key=lambda path: (path.is_symlink(), path), reverse=True)
    return sorted({os.path.realpath(path): path for path in chosen}.values())
