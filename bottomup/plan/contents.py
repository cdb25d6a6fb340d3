"""The contents of files, told by digests, each computed once.

A plan asks for the digest of every input, and reading gigabytes at each plan would take minutes. So
digests are kept beside Snakemake's records, each with a stamp: what the system says of the file's
bytes. The stamp has the time at which the file was last changed in any way (ctime), which no
program can set, and its inode. So it changes with `cp -p`, `rsync -a`, an unpacked archive, and a
link that is pointed elsewhere, whatever time of modification they leave.
"""

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from bottomup.core.files import digest as digest_of
from bottomup.plan.kept import Kept

# A file that was changed less than this ago may change again within one tick of its clock.
SETTLED_NS = 2 * 10**9
# For each digest that `content` returned, the function that lists its files.
FILES: dict[str, Callable[[], Iterable[str]]] = {}

_known = Kept(Path(".snakemake/contents.json"))  # by path, its stamp and its digest


def stamp(path: str | Path) -> list[int] | None:
    """What the system says of a file's bytes, links followed; None if there is no such file."""
    with suppress(OSError):
        status = os.stat(path)
        if stat.S_ISREG(status.st_mode):
            times = status.st_mtime_ns, status.st_ctime_ns
            return [status.st_dev, status.st_ino, status.st_size, *times]
    return None


def known(path: str | Path) -> str | None:
    """The digest of a file, if it was computed of the bytes that are there now."""
    return _known_of(str(path), stamp(path))


def _known_of(path: str, now: list[int] | None) -> str | None:
    match _known.get(path):
        case [[*before], str(checksum)] if before == now:
            return checksum
    return None


def digest(path: str | Path) -> str | None:
    """The SHA-256 of a file's bytes, in hexadecimal; None if they cannot be read."""
    path, now = str(path), stamp(path)
    if now is None:
        return None
    if checksum := _known_of(path, now):
        return checksum
    with suppress(OSError):
        checksum = digest_of(Path(path))
        if stamp(path) == now and max(now[-2:]) < time.time_ns() - SETTLED_NS:
            _known[path] = [now, checksum]
        return checksum
    return None


def content(listed: Callable[[], Iterable[str]]) -> str:
    """A digest of the names and bytes of the files that are listed, as they are when this process
    first asks for these. An unreadable file counts as empty, since the program that reads it
    reports the error."""
    checksum = first_content(tuple(listed()))
    FILES[checksum] = listed
    return checksum


def content_now(files: Iterable[str]) -> str:
    """The digest that `content` gives, of these files as they are now."""
    sha256 = hashlib.sha256()
    for file in sorted(files):
        sha256.update(f"{file}\0{digest(file) or ''}\0".encode(errors="surrogateescape"))
    return sha256.hexdigest()[:16]


first_content = cache(content_now)
