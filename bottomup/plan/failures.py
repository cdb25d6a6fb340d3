"""What is printed if a study does not finish: a line for each failed job, or that it was
stopped."""

import logging
import re
import shutil
import sys
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

from snakemake_interface_executor_plugins.executors.base import AbstractExecutor, SubmittedJobInfo

from bottomup.core import running
from bottomup.core.plurals import plural
from bottomup.plan.program import DONE
from bottomup.plan.start import command

MOST = 20  # lines
LOGGED = re.compile(r"(\d\d:\d\d:\d\d) (.*)")  # as programs log; an error has no time before it
# How a log begins to tell that no error is in it: the more likely causes of a failure first.
KILLED, NOT_WRITTEN, EMPTY = "killed or stopped", "not written", "empty"
ENDED_WELL = "its program ended well, so the cluster or the disk failed"
NO_ERROR = (KILLED, EMPTY, NOT_WRITTEN, ENDED_WELL)
OF_NODE = re.compile(r"^slurmstepd\S*: error: (.*)$", re.MULTILINE)
FULL_BYTES = 2**20  # with less free space, a log may have no room for its line
# By log, why a job failed although its program did not, as when its input changed meanwhile.
REASONS: dict[str, str] = {}


def expect_a_stop() -> None:
    """From now on, log no errors of jobs that a stop has ended."""
    logging.getLogger("snakemake.logging").addFilter(_is_no_consequence)


def _is_no_consequence(record: logging.LogRecord) -> bool:
    return record.levelno < logging.ERROR or not running.stopped.is_set()


_handle_error = logging.Handler.handleError


def expect_a_full_disk() -> None:
    """From now on, lose a line that a log cannot take, as on a full disk or in a closed pipe, where
    Python would print a traceback for each: on a full disk jobs fail, and their lines say why."""
    logging.Handler.handleError = _lose  # type: ignore[method-assign, assignment]


def _lose(handler: logging.Handler, record: logging.LogRecord) -> None:
    if not isinstance(sys.exc_info()[1], OSError):
        _handle_error(handler, record)


def note_why_the_cluster_fails() -> None:
    """From now on, keep among `REASONS` what a cluster says of a job that it refuses or ends.
    Snakemake itself tells it of single jobs, and of groups not even in its log file."""
    AbstractExecutor.report_job_error = _report


def choose_without_a_temporary_file(scheduler) -> None:
    """From now on, have Snakemake's scheduler choose jobs also where its solver cannot write to the
    folder for temporary files, as on a full disk: by its own simpler way, and with a warning."""
    choose = scheduler._job_selector
    told: set[str | None] = set()

    def chosen(*arguments):
        try:
            return choose(*arguments)
        except OSError as error:
            if error.strerror not in told:
                logging.getLogger("snakemake.logging").warning(
                    f"no temporary file can be written ({error.strerror}), so jobs are chosen in a "
                    "simpler way, and some may fail; free some space, or set TMPDIR to a folder "
                    "with room"
                )
            told.add(error.strerror)
            return None

    scheduler._job_selector = chosen


_report_by_snakemake = AbstractExecutor.report_job_error


def _report(executor: AbstractExecutor, job: SubmittedJobInfo, msg=None, **options) -> None:
    """Report a failed job, or group. The words of the cluster stand for the log that tells most,
    unless the job has run and its program told an error."""
    if msg and (logs := _logs(job.job)):  # a user's own rule may have no log
        for log in logs:
            REASONS.pop(log, None)  # of an earlier attempt
        place, log = min((_place(last_line(Path(log))), log) for log in logs)
        if place or not job.external_jobid:
            words = takewhile(lambda line: line[:1] != " ", msg.splitlines())
            REASONS[log] = " ".join([*words, *_said_on_the_node(job)])
    _report_by_snakemake(executor, job, msg, **options)


def _said_on_the_node(job: SubmittedJobInfo) -> list[str]:
    """What SLURM says last in its own log of a job, first of memory; nothing if it says nothing.
    Its daemon on the node knows why it ended a job; Snakemake asks only whether it failed."""
    log = (job.aux or {}).get("slurm_logfile")
    if not log or not Path(log).is_file():
        return []
    said = OF_NODE.findall(Path(log).read_text(errors="replace"))
    of_memory = [line for line in said if re.search("memory|oom", line, re.IGNORECASE)]
    return [f"slurmstepd: {line}" for line in (of_memory or said)[-1:]]


def _logs(job) -> list[str]:
    """The logs of one of Snakemake's jobs, or of all jobs of a group."""
    return [str(log) for one in getattr(job, "jobs", [job]) for log in one.log]


def say_how_it_ended(jobs: Iterable, n_done: int) -> None:
    """Print why each of Snakemake's `jobs` failed, or groups of them, then whether the disk is
    full, and whether the study was stopped.

    n_done: how many jobs were finished before.
    """
    lines = why_they_failed(map(_logs, jobs))
    stop = [stopped(n_done)] if running.stopped.is_set() else []
    for line in [*["", "failed:"] * bool(lines), *lines, *full_disk(), *stop]:
        print(line, file=sys.stderr)


def why_they_failed(jobs: Iterable[list[str]]) -> list[str]:
    """A line for each log that tells why a job failed, errors first; at most MOST, and how many
    more there are.

    jobs: the logs of each job, or of all jobs of a group. In a group some ended well and some never
    began, since another failed; their logs tell nothing, unless there are no others.
    """
    told = [line for logs in jobs for line in _telling(logs)]
    lines = [f"{log}: {line}" for _, log, line in sorted(told)]
    more = len(lines) - MOST
    return [*lines[:MOST], *[f"and {more} more"] * (more > 0)]


def _telling(logs: list[str]) -> list[tuple[int, str, str]]:
    """The logs that tell most, each with its place among `NO_ERROR`, 0 for an error, and what it
    says."""
    ended = [(log, REASONS.get(log) or last_line(Path(log))) for log in logs]
    placed = [(_place(line), log, line) for log, line in ended]
    most = max(1, min(placed, default=(0,))[0])
    return [each for each in placed if each[0] <= most]


def _place(line: str) -> int:
    found = (n for n, words in enumerate(NO_ERROR, 1) if line.startswith(words))
    return next(found, 0)


def stopped(n_done: int) -> str:
    """What a stop leaves, and how to go on."""
    return (
        f"stopped; what is done is kept ({n_done} {plural('job', n_done)} since the start), and "
        f"trainings go on from their last checkpoint: {command()}"
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
        return NOT_WRITTEN
    lines = log.read_text(errors="replace").split("\n")
    line = next((line.strip() for line in reversed(lines) if line.strip()), EMPTY)
    if not (logged := LOGGED.match(line)):
        return line
    if logged[2] == DONE:
        return ENDED_WELL
    return (
        f"{KILLED}; if the system did that for want of memory, run again with fewer --cores; "
        f"before it: {line}"
    )
