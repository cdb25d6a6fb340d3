"""Nothing is written or deleted through a link that somebody put among the results of a study."""

import os
from pathlib import Path

from bottomup.core.errors import UserError


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
