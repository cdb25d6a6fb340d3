"""The one exception for mistakes that a user can correct."""

import re

# Of a web address, all after the protocol.
_ADDRESS = re.compile(r"(?<=://)[^\s\"']+")


class UserError(Exception):
    """Bad input: one line that says what was found, what is allowed, where, and what to do.

    Secrets in web addresses are hidden, also in what other programs said.
    """

    def __init__(self, message: object) -> None:
        super().__init__(hidden(str(message)))


def hidden(text: str) -> str:
    """The text without secrets in its web addresses.

    >>> hidden("no https://me:secret@host/a?key=1 here")
    'no https://***@host/a?*** here'
    """
    return _ADDRESS.sub(_without_secrets, text)


def _without_secrets(found: re.Match) -> str:
    host, slash, path = found[0].partition("/")
    if "@" in host:
        host = f"***@{host.rpartition('@')[2]}"
    address, *more = re.split("([?#])", f"{host}{slash}{path}", maxsplit=1)
    return f"{address}{more[0]}***" if more else address
