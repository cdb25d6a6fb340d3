"""A folder that several users share: what one of them has made, the others can read."""

import os
from collections.abc import Iterator
from pathlib import Path

from bottomup.core.errors import UserError


def require_readable(*folders: Path) -> None:
    """Raise UserError if a file or folder in one of these cannot be read, as where another user
    made it under a umask such as 077. As an input it would count as changed, and without its
    records Snakemake cannot plan."""
    for path in (path for folder in folders for path in _all(folder)):
        if not os.access(path, os.R_OK) and path.exists():
            raise UserError(
                f"{path} cannot be read; allowed: what all who share the folder can read: "
                f"{_owner(path)} runs chmod -R g+rwX results trained .snakemake, and umask 002 "
                "before the next study"
            )


def _all(folder: Path) -> Iterator[Path]:
    for where, folders, files in os.walk(folder):
        yield from (Path(where, name) for name in sorted(folders + files))


def _owner(path: Path) -> str:
    """Who made a file, by name or, without one, by number."""
    try:
        return path.owner()
    except KeyError:
        return f"user {path.stat().st_uid}"
