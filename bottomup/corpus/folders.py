"""The files in a folder of one's own, links followed."""

import logging
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

log = logging.getLogger(__name__)


def below(folder: Path, pattern: str = "*") -> list[Path]:
    """The files in a folder and in those below it whose names fit a pattern, in order.

    A link to a folder counts as one, unless it leads to a folder that it is in.
    """
    return sorted(path for path in _all(folder, ()) if fnmatchcase(path.name, pattern))


def _all(folder: Path, above: tuple[str, ...]) -> Iterator[Path]:
    """above: the folders that this one is in, as they are without links."""
    within = (*above, os.path.realpath(folder))
    try:
        names = os.listdir(folder)
    except PermissionError:
        log.warning("%s may not be read, and its files are left out", folder)
        return
    for path in (folder / name for name in names):
        if not os.path.isdir(path):  # of a link to itself, Path.is_dir raises an error
            yield path
        elif os.path.realpath(path) not in within:
            yield from _all(path, within)


def without_aliases(files: list[Path]) -> list[Path]:
    """The first path of each file; those that are links are left out: these have no own text."""
    real = {path.resolve(): path for path in reversed(files) if not path.is_symlink()}
    return sorted(real.values())
