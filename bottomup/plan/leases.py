"""Which GPU a job computes on: one that no other job of the user holds.

Snakemake counts GPUs without assigning them (its issue 281), and two studies know nothing of each
other. So a job holds a lock for each GPU that it was given, until its process ends, however it
ends: the kernel releases the locks of a dead process.
"""

import fcntl
import logging
import os
import stat
import tempfile
import time
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from urllib.parse import quote

from bottomup.core.errors import UserError
from bottomup.core.running import by_torchrun

PAUSE_SECONDS = 0.5
# Descriptors of the locks. They stay open while the process lives, since closing one frees its GPU.
HELD: list[int] = []


def lease(count: int) -> None:
    """Give this process exactly `count` GPUs, which are its own until it ends.

    They come from the GPUs that CUDA would show it: those in CUDA_VISIBLE_DEVICES, or all. If other
    jobs hold too many of them, it waits. It does nothing if there are no GPUs, or if torchrun
    started the process: then several processes share the visible GPUs by their rank. Call it before
    CUDA starts, which reads only once what is visible.

    Raises UserError if there are fewer than `count` GPUs, if no lock can be taken, or if the
    environment has only some of torchrun's variables.
    """
    if by_torchrun():
        return
    names = visible()
    if not names:
        return
    if count > len(names):
        raise UserError(
            f"the job was given {count} GPUs; visible here: {', '.join(names)}; give it fewer by "
            "--set-resources RULE:gpu=N, or list more in CUDA_VISIBLE_DEVICES"
        )
    try:
        path = folder()
        taken = _taken(path, names, count)
        if not taken:
            logging.info(
                f"waiting until other jobs are done with a GPU; visible: {', '.join(names)}"
            )
        while not taken:
            time.sleep(PAUSE_SECONDS)
            taken = _taken(path, names, count)
    except OSError as error:
        raise UserError(
            f"no lock for a GPU: {error}; set TMPDIR to a folder on a local disk with room"
        ) from error
    HELD.extend(taken.values())
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(taken)
    logging.info(f"computing on GPU {', '.join(taken)}")


def visible() -> list[str]:
    """The GPUs that CUDA would show this process, by their names in CUDA_VISIBLE_DEVICES."""
    count = _count()
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if listed is None:
        return [str(index) for index in range(count)]
    # CUDA reads the list up to the first unknown name.
    return list(takewhile(bool, map(str.strip, listed.split(","))))[:count]


def _count() -> int:
    """How many GPUs CUDA would show. A child process asks, since asking starts CUDA."""
    import torch  # Most programs do not need it.

    if not torch.backends.cuda.is_built():
        return 0
    child = os.fork()
    if not child:
        count = 0
        try:
            count = torch.cuda.device_count()
        finally:
            os._exit(count)
    return max(0, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def folder() -> Path:
    """The folder in which all studies of this user on this machine lock GPUs; nobody else may write
    there.

    SLURM numbers GPUs anew in each step of a job, so each step has its own folder. It is not in
    XDG_RUNTIME_DIR, which disappears when the user logs out while jobs are running.
    """
    step = [os.environ[name] for name in ("SLURM_JOB_ID", "SLURM_STEP_ID") if name in os.environ]
    path = Path(tempfile.gettempdir(), "-".join(["bottomup-gpus", str(os.getuid()), *step]))
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise UserError(
            f"locks for GPUs need {path} to be a folder of this user that nobody else may write; "
            "remove what is there, or set TMPDIR to another folder"
        )
    return path


def _taken(path: Path, names: list[str], count: int) -> dict[str, int]:
    """Open locks on `count` GPUs, by name, or on none."""
    taken: dict[str, int] = {}
    for name in names:
        # A folder, since programs that clean up temporary files leave locked folders alone.
        lock = path / quote(name, safe="")
        with suppress(FileExistsError):
            lock.mkdir(mode=0o700)
        descriptor = os.open(lock, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
        else:
            taken[name] = descriptor
        if len(taken) == count:
            return taken
    for descriptor in taken.values():
        os.close(descriptor)
    return {}
