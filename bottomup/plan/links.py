"""Nothing is written through a link that somebody put among the results of a study."""

import os
from collections.abc import Iterable
from pathlib import Path

from bottomup.core.errors import UserError


def require_none(study: Path, written: Iterable[str]) -> None:
    """Raise UserError if a file of `written`, or a folder that it is in, is a link.

    study: the study's folder. It may be a link, and so may those above it, since a user then keeps
    all results of it elsewhere; below it, a link leads to what is somebody else's.
    """
    below = {Path(path) for path in written if study in Path(path).parents}
    below |= {folder for path in below for folder in path.parents if study in folder.parents}
    if links := sorted(path for path in below if path.is_symlink()):
        raise UserError(
            f"{links[0]} is a link to {os.readlink(links[0])}, which would be written over or "
            "deleted; replace the link by a copy, or delete it"
        )


def written_by(jobs: Iterable) -> Iterable[str]:
    """The outputs, logs and benchmarks of Snakemake's jobs."""
    for job in jobs:
        yield from map(str, [*job.output, *job.log, *filter(None, [job.benchmark])])
