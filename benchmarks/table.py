"""Every task beside its peers: time, memory, accuracy, and the share of the machine's ceiling.

PYTHONPATH=. python benchmarks/table.py TABLE.csv [--tasks kmeans pwcca] [--small]

Contenders take turns, each in its own process, on one thread. Seconds are CPU seconds, so other
work on the machine hardly shows. The table has a row for each task, size and contender.
"""

import argparse
import importlib
import logging
import os
import pkgutil
import statistics
import subprocess
from functools import partial
from pathlib import Path

import ceilings
import pandas as pd
import tasks
from side_by_side import REPEATS, Turn, apart, processor, take_turns, versions
from task import Contender, Task, Work, exponent

PACKAGES = ("torch", "numpy", "scikit-learn", "transformers", "snakemake")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
SHOWN = {
    "seconds": "{:.2f}",
    "times": "{:.2f}",
    "share_of_ceiling": "{:.1%}",
    "peak_mib": "{:.0f}",
    "value": "{:.5g}",
    "exponent": "{:.2f}",
}

log = logging.getLogger(__name__)


def all_tasks() -> dict[str, Task]:
    """The tasks of all modules of `tasks`, by name."""
    modules = [
        importlib.import_module(f"tasks.{m.name}") for m in pkgutil.iter_modules(tasks.__path__)
    ]
    return {name: task for module in modules for name, task in module.TASKS.items()}


def measure(
    name: str, task: Task, sizes: list[dict], repeats: int, limits: dict[str, float]
) -> list[dict]:
    """The rows of a task at some sizes; limits: see `ceilings.measured`."""
    rows = []
    for size in sizes:
        work = task.work(**size)
        contenders = {
            who: partial(contender.run, **size)
            for who, contender in taking_part(task, work).items()
        }
        shown = ", ".join(f"{key} {value}" for key, value in size.items())
        log.info(f"{name}: {shown}")
        turns = take_turns(contenders, repeats, task.told)
        ours = next(iter(turns.values()))
        for who, found in turns.items():
            named = {"task": name, "size": shown, "contender": who, "target": task.target}
            rows.append(named | row_of(task, work, found, ours, limits))
    for who in task.contenders:
        of_one = [row for row in rows if row["contender"] == who]
        power = exponent(*([row[key] for row in of_one] for key in ("extent", "seconds")))
        for row in of_one:
            row["exponent"] = power
    return rows


def taking_part(task: Task, work: Work) -> dict[str, Contender]:
    """The contenders that are installed and can do this much; prints a line for each other."""
    found = {}
    for name, contender in task.contenders.items():
        if contender.missing():
            log.info(f"{name} is left out: {contender.package} is not installed")
        elif work.extent > contender.most:
            log.info(f"{name} is left out: this is too much for it")
        else:
            found[name] = contender
    return found


def row_of(
    task: Task, work: Work, turns: list[Turn], ours: list[Turn], limits: dict[str, float]
) -> dict:
    """A row from the turns of a contender; `times`: its time divided by ours, for each turn."""
    seconds = spread("seconds", [turn.seconds for turn in turns])
    pairs = zip(turns, ours, strict=True)
    return {
        **{"item": task.item, "items": work.items},
        **seconds,
        "seconds_per_item": seconds["seconds"] / work.items,
        **spread("times", [turn.seconds / own.seconds for turn, own in pairs]),
        **{"work_flop": work.flop, "work_bytes": work.bytes, "dtype": work.dtype},
        "extent": work.extent,
        "ceiling_flop_per_second": limits[work.dtype],
        "ceiling_bytes_per_second": limits["copy"],
        "share_of_ceiling": work.seconds(limits) / seconds["seconds"],
        "peak_mib": statistics.median(turn.mib for turn in turns),
        **{"accuracy": task.value, "value": statistics.median(turn.value for turn in turns)},
        "repeats": len(turns),
    }


def spread(name: str, values: list[float]) -> dict[str, float]:
    """The median, the lowest and the highest value."""
    return {
        name: statistics.median(values),
        f"{name}_least": min(values),
        f"{name}_most": max(values),
    }


def setting() -> dict[str, str]:
    """The columns that name the machine and the versions."""
    faiss = ["faiss-cpu"] if not Contender(print, package="faiss").missing() else []
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    names = {"machine": processor(), "threads": 1, "versions": versions(*PACKAGES, *faiss)}
    return names | {"commit": commit}


def printed(rows: list[dict]) -> str:
    """The rows as a Markdown table; `times` is a contender's time divided by ours."""
    lines = [f"| size | contender | {' | '.join(SHOWN)} |", f"|{' --- |' * (2 + len(SHOWN))}"]
    for row in rows:
        values = " | ".join(text.format(row[key]) for key, text in SHOWN.items())
        lines.append(f"| {row['size']} | {row['contender']} | {values} |")
    return "\n".join(lines)


def main(arguments: argparse.Namespace) -> None:
    os.environ.update(ONE_THREAD)  # the contenders' own processes read it
    limits, columns = apart(ceilings.measured), setting()
    log.info(", ".join(f"{name} {limit / 1e9:.1f} G/s" for name, limit in limits.items()))
    rows = []
    for name in arguments.tasks:
        task = TASKS[name]
        sizes = task.small if arguments.small else task.sizes
        found = measure(name, task, sizes, arguments.repeats, limits)
        if arguments.largest:
            found += measure(name, task, task.largest, 1, limits)
        rows += [row | columns for row in found]
        pd.DataFrame(rows).to_csv(arguments.table, index=False)
        print(f"\n**{name}**: {task.target}; value: {task.value}\n\n{printed(found)}", flush=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    TASKS = all_tasks()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", type=Path, help="the CSV to write, after each task anew")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS), metavar="TASK")
    parser.add_argument("--small", action="store_true", help="sizes that take seconds")
    parser.add_argument("--largest", action="store_true", help="also what takes minutes")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="turns of each contender")
    main(parser.parse_args())
