"""The one exception for mistakes that a user can correct."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# _ADDRESS: a web address after its protocol, if it has one; " ends it where no @, ? or # needs what
# follows. _USER: user:password before the @ of a host.
_ADDRESS = re.compile(r"(?<=//|:/)(?!/)(\S{0,500}@)?[^\s\"?#]*([?#]\S*)?")
_USER = re.compile(r"(?<![\w/.*-])[\w.+-]+:[^\s@/]{1,2000}@(?=[\w-]+[.\w-]*)")
_CLOSING = "'\");,"  # after an address in a sentence


class UserError(Exception):
    """Bad input: one line that says what was found, what is allowed, where, and what to do.

    Secrets in web addresses are hidden, also where the line quotes another program.
    """

    def __init__(self, message: object) -> None:
        super().__init__(hidden(str(message)))


@contextmanager
def in_one_line(before: str = "") -> Iterator[None]:
    """End the process with `error: `, these words and the mistake, if the block raises one."""
    try:
        yield
    except UserError as error:
        sys.exit(f"error: {before}{error}")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """A context in which `path` is written; UserError if the system does not let it be."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{path} cannot be written: {error.strerror}; free some space or change its "
            "permissions, and run again"
        ) from error


def hidden(text: str) -> str:
    """The text without secrets in its web addresses.

    >>> hidden("no https://me:secret@host/a?key=1 here")
    'no https://***@host/a?*** here'
    """
    return _USER.sub("***@", _ADDRESS.sub(_without_secrets, text))


def _without_secrets(match: re.Match) -> str:
    address = match[0].rstrip(_CLOSING)
    closing = match[0][len(address) :]
    before, at, after = address.rpartition("@")
    # Without a password before it, an @ may be part of the path.
    if at and (":" in before or "/" not in before):
        address = f"***@{after}"
    address, *more = re.split("([?#])", address, maxsplit=1)
    return (f"{address}{more[0]}***" if more else address) + closing
