"""What is printed if a study does not finish: a line for each failed job, or that it was
stopped."""

import logging
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from bottomup.core import running
from bottomup.plan.start import command

MOST = 20  # lines
LOGGED = re.compile(r"\d\d:\d\d:\d\d ")  # as programs log; an error has no time before it
FULL_BYTES = 2**20  # with less free space, a log may have no room for its line


def expect_a_stop() -> None:
    """From now on, log no errors of jobs that a stop has ended."""
    logging.getLogger("snakemake.logging").addFilter(_is_no_consequence)


def _is_no_consequence(record: logging.LogRecord) -> bool:
    return record.levelno < logging.ERROR or not running.stopped.is_set()


def say_how_it_ended(jobs: Iterable, n_done: int, reasons: Mapping[str, str] | None = None) -> None:
    """Print the last log line of each of Snakemake's `jobs` that failed, or of groups of them, then
    whether the disk is full, and whether the study was stopped.

    n_done: how many jobs were finished before. reasons: by log, why a job failed although its
    program did not, for example because the clock was set back.
    """
    reasons = reasons or {}
    single = [job for each in jobs for job in getattr(each, "jobs", [each])]
    logs = [str(log) for job in single for log in job.log]
    lines = sorted(f"{log}: {reasons.get(log) or last_line(Path(log))}" for log in logs)
    more = len(lines) - MOST
    failed = ["", "failed:", *lines[:MOST], *[f"and {more} more"] * (more > 0)] if lines else []
    stop = [stopped(n_done)] if running.stopped.is_set() else []
    for line in [*failed, *full_disk(), *stop]:
        print(line, file=sys.stderr)


def stopped(n_done: int) -> str:
    """What a stop leaves, and how to go on."""
    return (
        f"stopped; what is done is kept ({n_done} jobs since the start), and trainings go on from "
        f"their last checkpoint: {command()}"
    )


def full_disk() -> list[str]:
    """A line if the disk of results is full."""
    if shutil.disk_usage("results").free >= FULL_BYTES:
        return []
    return ["error: the disk of results is full; free some and run again"]


def last_line(log: Path) -> str:
    """The last line of a log, where a program reports a user's mistake. If it only tells what was
    done, the program was killed before it could say more."""
    if not log.exists():
        return "not written"
    lines = log.read_text(errors="replace").split("\n")
    line = next((line.strip() for line in reversed(lines) if line.strip()), "empty")
    if not LOGGED.match(line):
        return line
    return (
        "killed or stopped; if the system did that for want of memory, run again with fewer "
        f"--cores; before it: {line}"
    )
