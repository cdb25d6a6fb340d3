"""What failed, in a line for each job, below all that Snakemake says of it."""

import sys
from collections.abc import Iterable
from pathlib import Path

MOST = 20  # lines


def say_what_failed(jobs: Iterable) -> None:
    """Print the last line of the log of each of Snakemake's `jobs`, or groups of jobs."""
    single = [job for each in jobs for job in getattr(each, "jobs", [each])]
    lines = sorted(f"{log}: {_last_line(Path(log))}" for job in single for log in job.log)
    more = len(lines) - MOST
    print("\nfailed:", *lines[:MOST], *[f"and {more} more"] * (more > 0), sep="\n", file=sys.stderr)


def _last_line(log: Path) -> str:
    """What the program said last; a user's mistake is one line."""
    if not log.exists():
        return "not written"
    lines = log.read_text(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "empty")
