"""Signals that ask a training to stop: it ends the update at hand, saves, and can be run again."""

import logging
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

log = logging.getLogger(__name__)

# SLURM warns by SIGUSR1, some minutes before a job's time is up.
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
# One request reaches a program by several ways: its group, its job, its parent.
SAME_SECONDS = 2.0

_heard: list[tuple[signal.Signals, float]] = []  # the first, and when it came


@contextmanager
def listening() -> Iterator[None]:
    """Note the first signal, for a training to ask for; a second one ends the program at once."""
    before = {number: signal.signal(number, _note) for number in SIGNALS}
    try:
        yield
    finally:
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
    """The signal to stop at, None as long as there was none."""
    return _heard[0][0] if _heard else None


def leave(number: signal.Signals, step: int) -> NoReturn:
    """End the program with a status that says: run me again (75, EX_TEMPFAIL of sysexits.h).

    step: what is saved.
    """
    log.info(f"stopped by {number.name} after step {step}; the same command goes on from there")
    if number == signal.SIGUSR1 and "SLURM_JOB_ID" in os.environ:
        requeue(os.environ["SLURM_JOB_ID"])
    raise SystemExit(os.EX_TEMPFAIL)


def requeue(job: str) -> None:
    """Have SLURM run the job again, which takes none of Snakemake's retries."""
    try:
        subprocess.run(["scontrol", "requeue", job], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        log.info(f"SLURM does not run job {job} again: {error}")
