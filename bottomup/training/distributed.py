"""One run trained by several processes, each on its own GPU.

Each process computes a part of every update, and all make the same step. This replaces
DistributedDataParallel for two reasons. It averages gradients, but parts have unequal numbers of
predictions, so gradients must be summed. And it wraps one `forward`, while here the objective
decides what a loss calls.

torchrun starts such processes, on one machine or several; a job that was given several GPUs starts
its own. A single process makes no use of this module.
"""

import argparse
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import wraps
from types import FrameType
from typing import NoReturn

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.multiprocessing import ProcessExitedException, start_processes

from bottomup.core.device import device, gpus
from bottomup.core.errors import UserError, in_one_line
from bottomup.core.running import by_torchrun
from bottomup.objectives import IGNORE, Example
from bottomup.training import stopping

Main = Callable[[argparse.Namespace], None]
GRACE_SECONDS = 10.0  # for the others to end, if a process fails


def rank() -> int:
    """The number of this process, from 0; only the first one writes files."""
    return dist.get_rank() if dist.is_initialized() else 0


def size() -> int:
    """How many processes train the run."""
    return dist.get_world_size() if dist.is_initialized() else 1


def share(example: Example) -> Example:
    """This process's part of an update, in whole sentences.

    With more processes than sentences, some predict nothing and have gradients of 0.
    """
    parts = list(example.split(size()))
    if rank() < len(parts):
        return parts[rank()]
    return replace(parts[0], labels=np.full_like(parts[0].labels, IGNORE))


def add_up(tensors: list[Tensor]) -> None:
    """Replace each tensor by its sum over all processes, with the same bits in each."""
    if size() > 1:
        together = torch.cat([tensor.flatten() for tensor in tensors])
        dist.all_reduce(together)
        sums = together.split([tensor.numel() for tensor in tensors])
        for tensor, total in zip(tensors, sums, strict=True):
            tensor.copy_(total.view_as(tensor))


def largest(number: int) -> int:
    """The largest of all processes' numbers, without waiting for any GPU."""
    if size() == 1:
        return number
    maximum = torch.tensor(number)
    dist.all_reduce(maximum, dist.ReduceOp.MAX)
    return int(maximum)


@contextmanager
def first_before_others() -> Iterator[None]:
    """Within it, the first process finishes before the others begin."""
    if rank() > 0:
        largest(0)
    try:
        yield
    finally:
        if rank() == 0:
            largest(0)


def others_leave() -> None:
    """End all processes but the first."""
    if rank() > 0:
        sys.exit()


def leave(number: signal.Signals, step: int, began: int) -> NoReturn:
    """As `stopping.leave`, in all processes; only the first writes to the log and asks SLURM."""
    with first_before_others():
        if rank() > 0:
            sys.exit(os.EX_TEMPFAIL)
        stopping.leave(number, step, began)


def in_processes(main: Main) -> Main:
    """Run a program's `main` in as many processes as the job was given GPUs.

    If torchrun has started the program, it is already one of them.
    """

    @wraps(main)
    def run(arguments: argparse.Namespace) -> None:
        if by_torchrun():
            with joined():
                main(arguments)
        elif (arguments.gpus or 1) > 1:
            launch(run, arguments)
        else:
            main(arguments)

    return run


@contextmanager
def joined() -> Iterator[None]:
    """Connect to the other processes, which torchrun describes in the environment."""
    on_gpu = device().type == "cuda"
    if on_gpu:
        number, n_gpus = int(os.environ["LOCAL_RANK"]), gpus()
        if number >= n_gpus:
            raise UserError(
                f"torchrun: found more processes on this machine than its {n_gpus} GPUs; "
                f"give --nproc-per-node {n_gpus}, or set BOTTOMUP_DEVICE to cpu"
            )
        torch.cuda.set_device(number)
    # `largest` compares numbers in memory, which NCCL does not read.
    dist.init_process_group("cpu:gloo,cuda:nccl" if on_gpu else "gloo")
    if rank() > 0:
        logging.disable(logging.INFO)
    try:
        yield
    finally:
        dist.destroy_process_group()


def launch(main: Main, arguments: argparse.Namespace) -> None:
    """Run `main` in processes that know of each other as if torchrun had started them.

    Signals go to them. The exit status is that of the first process that failed; torchrun itself
    turns every status into 1, and kills any process that takes 30 seconds to stop.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = start_processes(
        _run_rank, (arguments.gpus, port, main, arguments), arguments.gpus, join=False
    )

    def forward(number: int, frame: FrameType | None) -> None:
        for pid in processes.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    for number in stopping.SIGNALS:
        signal.signal(number, forward)
    try:
        while not processes.join(grace_period=GRACE_SECONDS):
            pass
    except ProcessExitedException as error:
        # If a signal ended it, the status is the one that a shell gives.
        sys.exit(error.exit_code if error.exit_code > 0 else 128 - error.exit_code)


def _run_rank(
    number: int, count: int, port: int, main: Main, arguments: argparse.Namespace
) -> None:
    """The process of one rank."""
    ranks = {"RANK": number, "LOCAL_RANK": number, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count}
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in (ranks | address).items()})
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    with in_one_line():
        main(arguments)
