"""Opening files of results; any error ends in one line with the path and what to do.

All arrays, tables, weights and tokenizers of a study are opened here, each kind in its own module,
so that a program depends only on the packages for the kinds that it reads.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bottomup.core.errors import UserError

AGAIN = "delete it and run the same command again, which makes it anew"
LARGEST_JSON = 2**28  # bytes, which are read at once


@contextmanager
def opening(path: Path | str) -> Iterator[None]:
    """A context in which `path` is read; UserError if that fails, as for a damaged file."""
    try:
        Path(path).open("rb").close()
    except OSError as error:
        remedy = "run again to make what is missing" if not Path(path).exists() else AGAIN
        raise UserError(f"{path} cannot be opened: {error.strerror}; {remedy}") from error
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # readers raise anything, some a plain Exception
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise damaged(path, lines[0]) from error


def damaged(path: Path | str, what: str) -> UserError:
    """The error for a file of results that is not as it was written; what: what is wrong."""
    return UserError(f"{path} is damaged: {what.rstrip('.')}; {AGAIN}")


def json_or_none(path: Path) -> Any:
    """What a file of JSON says; None if it is missing, damaged, too large, or no file, such as a
    pipe, from which one might read for ever."""
    with suppress(OSError, ValueError, RecursionError):
        if path.is_file() and path.stat().st_size <= LARGEST_JSON:
            return json.loads(path.read_bytes())
    return None


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def by_umask(path: Path) -> None:
    """Give a file, or all files in a folder, the permissions that a new file has by the umask: some
    libraries write files that only their owner can read."""
    umask = os.umask(0o077)
    os.umask(umask)
    for file in [path] if path.is_file() else path.rglob("*"):
        if file.is_file():
            file.chmod(0o666 & ~umask)


def as_written(path: Path, written: str) -> bool:
    """Whether a file is there and has the digest that it was written with."""
    return path.is_file() and digest(path) == written


def noted(listing: Path) -> dict[Path, str]:
    """The noted digests by path, from a file in the form of `sha256sum`."""
    pairs = [line.split(maxsplit=1) for line in listing.read_text(errors="replace").splitlines()]
    return {Path(pair[1]): pair[0] for pair in pairs if len(pair) == 2}
