"""A job runs as it was planned, also where another Snakemake runs it, as on a node of a cluster.

That Snakemake plans the job anew, by the config, code and packages that it finds by then, and gives
its program this plan. What is recorded is the plan of the first. So the first writes down the slice
of each job, and whichever runs the job compares.
"""

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from bottomup.core.differences import differences
from bottomup.core.errors import UserError

PLANNED = Path(".snakemake/planned")  # a file for each job, by its first output


def write_down(slices: Iterable[tuple[str, str]]) -> None:
    """Keep slices of jobs, as JSON, each with an output of its job; UserError if that fails."""
    try:
        PLANNED.mkdir(parents=True, exist_ok=True)
        for output, planned in slices:
            temporary = PLANNED / f"{os.getpid()}.new"
            temporary.write_text(planned)
            os.replace(temporary, _file(output))
    except OSError as error:
        raise UserError(
            f"{PLANNED} cannot be written: {error.strerror}; free some space or change its "
            "permissions, and run again"
        ) from error


def unlike_its_plan(output: str, now: str) -> str | None:
    """A line that says how a job's slice differs from the one that was written down, if it does."""
    with suppress(FileNotFoundError):
        planned = _file(output).read_text()
        if planned != now:
            changed = "; ".join(differences(json.loads(planned), json.loads(now)))
            return (
                f"changed since the study was planned, on {os.uname().nodename}: {changed}; run "
                "the same command again, which plans anew"
            )
    return None


def _file(output: str) -> Path:
    return PLANNED / hashlib.sha256(output.encode(errors="surrogateescape")).hexdigest()[:32]
