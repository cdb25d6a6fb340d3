"""What Snakemake has recorded of the jobs that made each output."""

import base64
from collections.abc import Iterator
from pathlib import Path

from bottomup.core.files import json_or_none


def records(folder: Path = Path(".snakemake/metadata")) -> dict[Path, dict]:
    """What Snakemake has recorded of each output's job, by output, relative to where it runs."""
    return {path: record for _, path, record in recorded(folder)}


def recorded(folder: Path) -> Iterator[tuple[Path, Path, dict]]:
    """Each of Snakemake's records in a folder: its file, the output that it is about, what it says.

    A file's name is the output's path in base64.
    """
    for file in folder.rglob("*"):
        if not isinstance(record := json_or_none(file), dict):
            continue  # a truncated record, as Snakemake does
        try:
            name = "".join(part.removeprefix("@") for part in file.relative_to(folder).parts)
            output = base64.urlsafe_b64decode(name).decode()
        except ValueError:
            continue  # a file of the system, like .nfs1
        yield file, Path(output), record
