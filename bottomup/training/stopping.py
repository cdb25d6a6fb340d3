"""Signals that ask a training to stop: it finishes the current update, saves, and can be
resumed."""

import logging
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

log = logging.getLogger(__name__)

# SLURM warns by SIGUSR1, some minutes before a job's time is up. But it warns only Snakemake, not
# the programs that Snakemake starts: under cgroups, these get nothing before SIGKILL. So a training
# asks how long it has, and warns itself by SIGALRM.
TIME_IS_UP = (signal.SIGUSR1, signal.SIGALRM)
# A closed terminal sends SIGHUP.
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, *TIME_IS_UP)
# Time to save before the job's time is up; a quarter of short times.
SECONDS_TO_SAVE = 120
# One request can reach a program in several ways: by its group, its job, its parent.
SAME_SECONDS = 2.0

_heard: list[tuple[signal.Signals, float]] = []  # the first signal, and when it came


@contextmanager
def listening() -> Iterator[None]:
    """Note the first signal for `heard`, by which a training stops; a second one ends the program
    at once."""
    # Ignored signals stay ignored, such as SIGHUP under nohup.
    noted = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, _note) for number in noted}
    if left := seconds_left():
        signal.alarm(left - min(SECONDS_TO_SAVE, left // 4))
    try:
        yield
    finally:
        signal.alarm(0)
        for number, handler in before.items():
            signal.signal(number, handler)
        _heard.clear()


def _note(number: int, frame: FrameType | None) -> None:
    if not _heard:
        _heard.append((signal.Signals(number), time.monotonic()))
    elif time.monotonic() - _heard[0][1] > SAME_SECONDS:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)


def heard() -> signal.Signals | None:
    """The signal to stop at, None if there was none."""
    return _heard[0][0] if _heard else None


def leave(number: signal.Signals, step: int, began: int) -> NoReturn:
    """End the program with a status that says: run me again (75, EX_TEMPFAIL of sysexits.h).

    step: the step that is saved. began: the step at which the program started. If it made no
    progress in all its time, SLURM is not asked to run it again, which would never end.
    """
    log.info(f"stopped by {number.name} after step {step}; the same command goes on from there")
    if number in TIME_IS_UP and "SLURM_JOB_ID" in os.environ and step > began:
        requeue(os.environ["SLURM_JOB_ID"])
    raise SystemExit(os.EX_TEMPFAIL)


def seconds_left() -> int | None:
    """Seconds until SLURM ends this job; None outside of a job, or without a time limit."""
    if "SLURM_JOB_ID" not in os.environ:
        return None
    command = ["squeue", "--noheader", "--format=%L", f"--jobs={os.environ['SLURM_JOB_ID']}"]
    try:
        answer = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        log.info(f"SLURM does not say how long the job may run: {error}")
        return None
    # As in 1-02:03:04, without leading zero parts.
    match = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", answer.stdout.strip())
    if not match:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def requeue(job: str) -> None:
    """Let SLURM run the job again, which costs none of Snakemake's retries."""
    try:
        subprocess.run(["scontrol", "requeue", job], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        log.info(f"SLURM does not run job {job} again: {error}")
