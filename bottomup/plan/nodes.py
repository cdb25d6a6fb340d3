"""Checks that a job runs as it was planned, also if a second Snakemake runs it on a cluster's node.

The second Snakemake plans the job again, from the config, code and packages that it finds, and
gives this plan to the program. But it is the first whose plan is recorded. So the first writes down
the slice of each job, and the one that runs the job compares.
"""

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from bottomup.core.differences import differences
from bottomup.core.errors import writing

PLANNED = Path(".snakemake/planned")  # a file for each job, by its first output


def write_down(slices: Iterable[tuple[str, str]]) -> None:
    """Keep slices of jobs, as JSON, each with an output of its job; UserError if that fails."""
    with writing(PLANNED):
        PLANNED.mkdir(parents=True, exist_ok=True)
        for output, planned in slices:
            temporary = PLANNED / f"{os.getpid()}.new"
            temporary.write_text(planned)
            os.replace(temporary, _file(output))


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
