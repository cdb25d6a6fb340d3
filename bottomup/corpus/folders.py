"""The files in a folder of one's own, links followed."""

import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

log = logging.getLogger(__name__)


def below(folder: Path, pattern: str = "*") -> list[Path]:
    """The files in a folder and in those below it whose names fit a pattern, in order.

    A link to a folder counts as one, unless it leads to a folder that it is in. Hidden files and
    folders, whose names begin with a period, are of programs: they hold copies, or no text at all.
    """
    return sorted(path for path in _all(folder, ()) if fnmatchcase(path.name, pattern))


def _all(folder: Path, above: tuple[str, ...]) -> Iterator[Path]:
    """above: the folders that this one is in, as they are without links."""
    within = (*above, os.path.realpath(folder))
    if not os.access(folder, os.R_OK | os.X_OK):
        log.warning("%s may not be read, and its files are left out", folder)
        return
    for name in (name for name in os.listdir(folder) if not name.startswith(".")):
        path = folder / name
        if not _is_utf8(name):
            log.warning("%r is left out, since its name is not UTF-8; rename it", str(path))
        elif not os.path.isdir(path):  # of a link to itself, Path.is_dir raises an error
            yield path
        elif os.path.realpath(path) not in within:
            yield from _all(path, within)


def _is_utf8(name: str) -> bool:
    with suppress(UnicodeEncodeError):
        return bool(name.encode())
    return False


def once(files: list[Path]) -> list[Path]:
    """Each file by one path, in order: the first that is no link, or else the first."""
    chosen = sorted(files, key=lambda path: (path.is_symlink(), path), reverse=True)
    return sorted({os.path.realpath(path): path for path in chosen}.values())
