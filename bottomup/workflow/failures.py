"""What failed, in one line for each job, below Snakemake's own output."""

import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

MOST = 20  # lines
FULL_BYTES = 2**20  # with less free space, a log may have no room for its line


def say_what_failed(jobs: Iterable, reasons: Mapping[str, str] | None = None) -> None:
    """Print the last log line of each of Snakemake's `jobs`, or groups of jobs, and below them
    whether the disk is full; if no job failed, as after Ctrl-C, that the study goes on.

    reasons: by log, why a job failed whose program did not, as by a clock that was set back.
    """
    reasons = reasons or {}
    single = [job for each in jobs for job in getattr(each, "jobs", [each])]
    logs = [str(log) for job in single for log in job.log]
    lines = sorted(f"{log}: {reasons.get(log) or _last_line(Path(log))}" for log in logs)
    more = len(lines) - MOST
    said = ["failed:", *lines[:MOST], *[f"and {more} more"] * (more > 0)]
    stopped = ["no job failed; the same command goes on from here"]
    print("", *(said if lines else stopped), sep="\n", file=sys.stderr)
    if shutil.disk_usage("results").free < FULL_BYTES:
        print("error: the disk of results is full; free some and run again", file=sys.stderr)


def _last_line(log: Path) -> str:
    """The last line of a log; a user's mistake is one line."""
    if not log.exists():
        return "not written"
    lines = log.read_text(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "empty")
