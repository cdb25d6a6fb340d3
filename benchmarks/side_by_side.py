"""What the benchmarks share: contenders in turns, each in a process of its own; the machine."""

import multiprocessing
import platform
import resource
import statistics
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

REPEATS = 3


def compare(
    contenders: dict[str, Callable[[], tuple[float, float]]], value: str, repeats: int = REPEATS
) -> None:
    """Print seconds, peak memory and the result's value of each contender; the last is the peer.

    A contender returns the seconds of its work and the value. They take turns, so that a machine
    that slows down slows all; medians of `repeats` are shown, with ratios to the peer.
    """
    runs = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, contender in contenders.items():
            runs[name].append(_apart(contender))
    medians = {
        name: [statistics.median(v) for v in zip(*r, strict=True)] for name, r in runs.items()
    }
    *_, (peer_seconds, _, peer_value) = medians.values()
    print(f"| | seconds | ratio | peak MiB | {value} | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, (seconds, mib, found) in medians.items():
        print(
            f"| {name} | {seconds:.2f} | {seconds / peer_seconds:.2f} | {mib:.0f} "
            f"| {found:.6g} | {found / peer_value:.3f} |"
        )


def machine(threads: int, *packages: str) -> str:
    """The machine and the versions that a result is for, in one line."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"{cpu}, threads: {threads}; Python {platform.python_version()}, {versions}"


def _apart(contender: Callable[[], tuple[float, float]]) -> tuple[float, float, float]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (contender,))


def _measured(contender: Callable[[], tuple[float, float]]) -> tuple[float, float, float]:
    seconds, value = contender()
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, value
