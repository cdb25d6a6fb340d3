"""Results of a study are written into folders, and nothing is written or deleted through a link
that somebody put among them."""

import os
from collections.abc import Iterable
from pathlib import Path

from bottomup.core.errors import UserError

# What is written into besides the folders of results.
BESIDE = ("trained/", "downloads/", ".snakemake/metadata/", ".snakemake/log/")


def require_none(study: Path) -> None:
    """Raise UserError if anything below the study's folder is a link, whatever job would write
    there: jobs write more than the outputs that they declare, such as checkpoints.

    The folder itself may be a link, and so may those above it, since a user then keeps all results
    of it elsewhere; below it, a link leads to what is somebody else's.
    """
    for folder, folders, files in os.walk(study):
        for path in (Path(folder, name) for name in sorted(folders + files)):
            if path.is_symlink():
                raise UserError(
                    f"{path} is a link to {os.readlink(path)}, and a study writes over and deletes "
                    f"what is in {study}; replace the link by a copy, or delete it"
                )


def require_folders(files: Iterable[str]) -> None:
    """Raise UserError if a file, or a link that leads to no folder, stands where one of `files`, or
    of `BESIDE`, needs a folder. Folders behind the first wildcard of a path are not checked."""
    prefixes = {os.path.dirname(file.partition("{")[0]) for file in [*BESIDE, *files]}
    for folder in sorted(
        {above for each in prefixes for above in [Path(each), *Path(each).parents]}
    ):
        if os.path.lexists(folder) and not os.path.isdir(folder):
            raise UserError(
                f"{folder}: found a file, or a link that leads to no folder; allowed: a folder, or "
                "nothing; move it away"
            )
