"""One run trained by several processes, each on a GPU of its own.

Each computes a part of every update, and all make the same step. What DistributedDataParallel does
is done here by hand: it averages gradients, but parts have unequal numbers of predictions, so that
these are summed; and it wraps one `forward`, whereas a loss here is the objective's matter.

torchrun starts such processes, on one machine or several; a job that was given several GPUs starts
its own. For a process that is alone, nothing in here does anything.
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

from bottomup.device import device
from bottomup.errors import UserError
from bottomup.objectives import IGNORE, Example
from bottomup.training import stopping

Main = Callable[[argparse.Namespace], None]
GRACE_SECONDS = 10.0  # for the others, where a process fails


def rank() -> int:
    """The number of this process, from 0; the first one alone writes files."""
    return dist.get_rank() if dist.is_initialized() else 0


def size() -> int:
    """How many processes train the run."""
    return dist.get_world_size() if dist.is_initialized() else 1


def share(example: Example) -> Example:
    """This process's part of an update, of whole sentences.

    Where there are more processes than sentences, some predict nothing, and so have gradients of 0.
    """
    parts = list(example.split(size()))
    if rank() < len(parts):
        return parts[rank()]
    return replace(parts[0], labels=np.full_like(parts[0].labels, IGNORE))


def add_up(tensors: list[Tensor]) -> None:
    """Replace each tensor by its sum over all processes, the same bits in each."""
    if size() > 1:
        together = torch.cat([tensor.flatten() for tensor in tensors])
        dist.all_reduce(together)
        sums = together.split([tensor.numel() for tensor in tensors])
        for tensor, found in zip(tensors, sums, strict=True):
            tensor.copy_(found.view_as(tensor))


def largest(number: int) -> int:
    """The largest of all processes' numbers, which no GPU is waited for to tell."""
    if size() == 1:
        return number
    found = torch.tensor(number)
    dist.all_reduce(found, dist.ReduceOp.MAX)
    return int(found)


@contextmanager
def first_before_others() -> Iterator[None]:
    """What the first process does in here is done before the others begin."""
    if rank() > 0:
        largest(0)
    try:
        yield
    finally:
        if rank() == 0:
            largest(0)


def others_leave() -> None:
    """Only the first process goes on."""
    if rank() > 0:
        sys.exit()


def leave(number: signal.Signals, step: int, began: int) -> NoReturn:
    """As `stopping.leave`, in all processes, but said and asked for by the first."""
    with first_before_others():
        if rank() > 0:
            sys.exit(os.EX_TEMPFAIL)
        stopping.leave(number, step, began)


def in_processes(main: Main) -> Main:
    """Have a program's `main` run in as many processes as the job was given GPUs.

    Where torchrun has started it, it is one of those.
    """

    @wraps(main)
    def run(arguments: argparse.Namespace) -> None:
        if "WORLD_SIZE" in os.environ:
            with joined():
                main(arguments)
        elif (arguments.gpus or 1) > 1:
            launch(run, arguments)
        else:
            main(arguments)

    return run


@contextmanager
def joined() -> Iterator[None]:
    """Meet the other processes, by what torchrun says of them in the environment."""
    on_gpu = device().type == "cuda"
    if on_gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    # What `largest` compares is in memory, which NCCL does not read.
    dist.init_process_group("cpu:gloo,cuda:nccl" if on_gpu else "gloo")
    if rank() > 0:
        logging.disable(logging.INFO)
    try:
        yield
    finally:
        dist.destroy_process_group()


def launch(main: Main, arguments: argparse.Namespace) -> None:
    """Run `main` in processes that know of each other as if torchrun had started them.

    Signals are theirs. Leaves as the first one left that did not end well; torchrun itself makes 1
    of every status, and kills whoever takes 30 seconds to stop.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = start_processes(
        _one_of, (arguments.gpus, port, main, arguments), arguments.gpus, join=False
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
        # What a signal ended is said as a shell says it.
        sys.exit(error.exit_code if error.exit_code > 0 else 128 - error.exit_code)


def _one_of(number: int, count: int, port: int, main: Main, arguments: argparse.Namespace) -> None:
    ranks = {"RANK": number, "LOCAL_RANK": number, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count}
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in (ranks | address).items()})
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    try:
        main(arguments)
    except UserError as error:
        sys.exit(f"error: {error}")
