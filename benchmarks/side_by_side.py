"""Shared by the benchmarks: contenders in turns, each in its own process, and the machine."""

import platform
import statistics
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

REPEATS = 3


@dataclass(frozen=True)
class Turn:
    """One turn of a contender: seconds of its work, peak MiB of its whole process including
    libraries, and its result."""

    seconds: float
    mib: float
    value: float


def take_turns(
    contenders: dict[str, Callable[..., tuple[float, float]]], repeats: int, told: bool = False
) -> dict[str, list[Turn]]:
    """The turns of each contender, which returns the seconds of its work and a value.

    They alternate, so that a machine that slows down slows all of them. told: whether contenders
    after the first get its result of the same turn, as `goal`.
    """
    turns = {name: [] for name in contenders}
    first = next(iter(contenders))
    for _ in range(repeats):
        for name, contender in contenders.items():
            goal = {"goal": turns[first][-1].value} if told and name != first else {}
            turns[name].append(apart(turn, contender, **goal))
    return turns


def compare(
    contenders: dict[str, Callable[[], tuple[float, float]]], value: str, repeats: int = REPEATS
) -> None:
    """Print seconds, peak memory and the result's value of each contender; the last is the peer.

    Medians of `repeats` turns, with ratios to the peer.
    """
    medians = {
        name: Turn(*map(statistics.median, zip(*map(astuple, turns), strict=True)))
        for name, turns in take_turns(contenders, repeats).items()
    }
    *_, peer = medians.values()
    print(f"| | seconds | ratio | peak MiB | {value} | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, middle in medians.items():
        print(
            f"| {name} | {middle.seconds:.2f} | {middle.seconds / peer.seconds:.2f} "
            f"| {middle.mib:.0f} | {middle.value:.6g} | {middle.value / peer.value:.3f} |"
        )


def machine(threads: int, *packages: str) -> str:
    """The machine and the versions of a result, in one line."""
    return f"{processor()}, threads: {threads}; {versions(*packages)}"


def processor() -> str:
    """The name of the CPU."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))


def versions(*packages: str) -> str:
    """The versions of Python and of some packages, in one line."""
    named = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"Python {platform.python_version()}, {named}"


def apart(function: Callable, *arguments, **named):
    """The result of a function that is called in its own process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments, **named).result()


def turn(contender: Callable[..., tuple[float, float]], **arguments) -> Turn:
    """A contender's turn, in this process."""
    seconds, value = contender(**arguments)
    return Turn(seconds, peak_mib(), value)


def peak_mib() -> float:
    """The most memory of this process so far; getrusage would give that of the process that started
    it, where that had more."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
