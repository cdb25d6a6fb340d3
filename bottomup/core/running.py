"""One Snakemake at a time runs a study, and its jobs end with it.

Kernel locks on two files in the study's folder ensure this; they become free when their holder
ends, however it ends. A Snakemake holds the first lock while its jobs may run. It shares the second
with its jobs, until the last of them has ended.
"""

import errno
import fcntl
import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from bottomup.core.errors import UserError, writing

log = logging.getLogger(__name__)

MAY_RUN, STILL_RUN = ".snakemake.lock", ".jobs.lock"
# Environment variables for jobs: the study's folder, and the Snakemake that started them.
FOLDER, STARTED_BY = "BOTTOMUP_FOLDER", "BOTTOMUP_STARTED_BY"
# Environment variables by which torchrun tells a process which one of how many it is, and where the
# first one listens.
RANKS = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
TORCHRUN = (*RANKS, "MASTER_ADDR", "MASTER_PORT")
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP}

_held: list[TextIO] = []  # open while this process lives
stopped = threading.Event()  # by a signal, since `start`


def last(folder: Path) -> str | None:
    """Which Snakemake ran the study in `folder` last; "" if none has, None while one runs it. Asked
    before a plan, it tells `start` whether another one has changed what the plan rests on."""
    with suppress(OSError), (folder / MAY_RUN).open() as may_run:
        return may_run.read() if _take(may_run, fcntl.LOCK_SH) else None
    return ""


def start(folder: Path, before: str | None) -> None:
    """Become the one Snakemake that runs the study in `folder`; a signal to stop also stops its
    jobs.

    It waits for jobs that an earlier Snakemake left behind and that are about to end.

    before: the `last` one before this one planned.

    Raises UserError if another Snakemake runs the study, or has run it since `before`, or if the
    folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        may_run, still_run = ((folder / name).open("a+") for name in (MAY_RUN, STILL_RUN))
        _hold(may_run, still_run)
        may_run.seek(0)
        if (other := may_run.read()) != before:
            raise UserError(
                f"another Snakemake ({other}) ran the study in {folder} while this one planned; "
                "run the same command again, which plans anew"
            )
        this = f"process {os.getpid()} on {os.uname().nodename}"
        may_run.truncate(0)
        print(this, end="", file=may_run, flush=True)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise UserError(f"{folder} cannot be written: {error.strerror}") from error
        log.warning(f"the file system of {folder} has no locks: start one Snakemake at a time")
        return
    _held.extend([may_run, still_run])
    os.environ.update({FOLDER: str(folder), STARTED_BY: this})

    signals, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end)
    threading.Thread(target=_let_jobs_end_at, args=[signals, may_run], daemon=True).start()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # which nohup sets
            signal.signal(number, signal.default_int_handler)


def _let_jobs_end_at(signals: int, may_run: TextIO) -> None:
    """Wait for a signal, then set `stopped` and free the first lock, so that the jobs end.

    The signal's handler cannot do this: Python calls it in the main thread, which sometimes keeps
    waiting for a job if the signal came just as it began to wait.
    """
    os.read(signals, 1)
    stopped.set()
    fcntl.flock(may_run, fcntl.LOCK_UN)


def _hold(may_run: TextIO, still_run: TextIO) -> None:
    """Take both locks; UserError if a living Snakemake holds the first."""
    waiting = False
    while True:
        if not _take(may_run, fcntl.LOCK_SH):
            raise _held_by_another(may_run)
        if _take(may_run, fcntl.LOCK_EX) and _take(still_run, fcntl.LOCK_EX):
            fcntl.flock(still_run, fcntl.LOCK_SH)
            return
        # Leftover jobs end as soon as they get the first lock, and then share it.
        fcntl.flock(may_run, fcntl.LOCK_UN)
        if not waiting:
            log.warning("waiting until the jobs of an earlier Snakemake have ended")
        waiting = True
        time.sleep(0.2)


def _held_by_another(may_run: TextIO) -> UserError:
    may_run.seek(0)
    return UserError(
        f"another Snakemake ({may_run.read()}) runs the study in {Path(may_run.name).parent}; wait "
        "until it ends, or stop it"
    )


def require_idle(folder: Path) -> None:
    """Raise UserError if a Snakemake runs the study in `folder`."""
    with suppress(FileNotFoundError), (folder / MAY_RUN).open() as may_run:
        if not _take(may_run, fcntl.LOCK_SH):
            raise _held_by_another(may_run)


def _take(file: TextIO, operation: int) -> bool:
    """Try to take a lock, without waiting for others; whether it was taken."""
    try:
        fcntl.flock(file, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """A context in which no other process holds `lock`; entering waits for one that does.

    Jobs on a cluster outlive a killed Snakemake; jobs of the next Snakemake must not train the same
    run beside them.

    Raises UserError if the lock cannot be written.
    """
    with writing(lock):
        lock.parent.mkdir(parents=True, exist_ok=True)
        file = _lock(lock)
    with file:
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def _lock(path: Path) -> TextIO:
    """A file that stays locked while it is open; waits until nobody else holds it."""
    while True:
        # O_NOFOLLOW, so that a link at this path makes no file elsewhere.
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o666), "w")
        try:
            if not _take(file, fcntl.LOCK_EX):
                log.info(f"another job holds {path}: waiting until it ends")
                fcntl.flock(file, fcntl.LOCK_EX)
            # The holder before us has deleted its file; a third process may have locked a new one.
            with suppress(FileNotFoundError):
                if os.path.samestat(path.stat(), os.fstat(file.fileno())):
                    return file
        except OSError as error:
            if error.errno in NO_LOCKS:
                return file
            raise
        file.close()


def follow() -> None:
    """End this program, by SIGTERM, when the Snakemake that started it ends or stops its jobs.

    A program that was started by hand goes on; so does one on a cluster, which ends jobs by itself.

    Raises UserError if Snakemake has already ended.
    """
    if FOLDER not in os.environ:
        return
    # Written early: on a full disk, the rest of a short log still fits into the block of this line.
    log.info("process %d on %s", os.getpid(), os.uname().nodename)
    try:
        folder = Path(os.environ[FOLDER])
        # Descriptors, since a file that is open at the end would be warned of in the log.
        may_run, still_run = (os.open(folder / name, os.O_RDONLY) for name in (MAY_RUN, STILL_RUN))
    except FileNotFoundError as error:
        raise UserError(
            f"{error.filename} is gone: the study's folder was deleted during the run; start again"
        ) from error
    fcntl.flock(still_run, fcntl.LOCK_SH)
    if os.read(may_run, 1000).decode() != os.environ[STARTED_BY]:
        raise UserError("the Snakemake that started this job has ended")
    threading.Thread(target=_end_after, args=[may_run], daemon=True).start()


def by_torchrun() -> bool:
    """Whether torchrun, or what starts processes as it does, started this process.

    Raises UserError if only some of what it tells is there, as other launchers leave it.
    """
    there = [name for name in TORCHRUN if name in os.environ]
    if not {*RANKS}.intersection(there):
        return False
    if missing := [name for name in TORCHRUN if name not in there]:
        raise UserError(
            f"environment: found {', '.join(there)} without {', '.join(missing)}; allowed: all, as "
            f"torchrun sets them, or none: unset {' '.join(there)}"
        )
    return True


def _end_after(may_run: int) -> None:
    fcntl.flock(may_run, fcntl.LOCK_SH)
    os.kill(os.getpid(), signal.SIGTERM)
