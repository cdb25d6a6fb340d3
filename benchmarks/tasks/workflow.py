"""The cost of the workflow besides the work of its jobs: their start, and planning a finished
study.
"""

import os
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from task import Contender, Task, Work

from tests.plan.checkouts import ROOT, Checkout, copy_repository

# Seconds of all jobs of the default study, at commit 5cfa2b2.
STUDY_SECONDS = 216 * 60
OVERLAY = ("--configfile", "study.yaml")


def copied(folder: Path, seeds: int) -> Checkout:
    """A copy of the repository, to run the default study with some seeds."""
    checkout = copy_repository(folder / "copy")
    (checkout.path / "study.yaml").write_text(f"seeds: {list(range(1, seeds + 1))}\n")
    return checkout


def of_programs(run: Callable[[], object]) -> float:
    """CPU seconds of the programs that `run` starts and waits for."""
    before = children()
    run()
    return children() - before


def children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def jobs(seeds: int) -> Counter:
    """How many jobs of the study start each script."""
    with tempfile.TemporaryDirectory() as scratch:
        plan = copied(Path(scratch), seeds).snakemake("-n", "-p", "--forceall", *OVERLAY)
    return Counter(re.findall(r"python (scripts/\w+\.py)", plan.stdout + plan.stderr))


def work_of_start(seeds: int, scripts: int) -> Work:
    return Work(items=sum(dict(jobs(seeds).most_common(scripts)).values()))


def start(seeds: int, scripts: int) -> tuple[float, float]:
    """Each script up to its help text, as often as it has jobs, without later imports. The value is
    the share of the study's time."""
    seconds = 0.0
    for script, count in jobs(seeds).most_common(scripts):
        seconds += count * of_programs(partial(answered, [sys.executable, script, "--help"]))
    return seconds, seconds / STUDY_SECONDS


def answered(command: list[str]) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)


def torch_alone(seeds: int, scripts: int) -> tuple[float, float]:
    """The same if a job imported only torch, which no job that computes can avoid."""
    asked = of_programs(partial(answered, [sys.executable, "-c", "import torch"]))
    seconds = asked * work_of_start(seeds, scripts).items
    return seconds, seconds / STUDY_SECONDS


def work_of_plan(seeds: int) -> Work:
    return Work(items=sum(jobs(seeds).values()))


def plan(seeds: int) -> tuple[float, float]:
    """A plan of a study whose files and records are all there. The value is the number of jobs that
    it still has."""
    with tempfile.TemporaryDirectory() as scratch:
        checkout = copied(Path(scratch), seeds)
        for output in checkout.summary():
            path = checkout.path / output
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(output)
        checkout.snakemake("--touch", "--forceall", "--cores", "1", *OVERLAY)
        answers = []
        seconds = of_programs(lambda: answers.append(checkout.snakemake("-n", *OVERLAY)))
    [answer] = answers
    return seconds, float(
        len(re.findall(r"^(?:local)?rule ", answer.stdout + answer.stderr, re.MULTILINE))
    )


TASKS = {
    "start-up": Task(
        target="under 3 % of the default study",
        item="jobs",
        value="share of the default study",
        work=work_of_start,
        contenders={"bottomup": Contender(start), "import torch": Contender(torch_alone)},
        sizes=[{"seeds": 3, "scripts": 100}],
        small=[{"seeds": 1, "scripts": 2}],
    ),
    "planning": Task(
        target="6 s",
        item="jobs",
        value="jobs left",
        work=work_of_plan,
        contenders={"bottomup": Contender(plan)},
        sizes=[{"seeds": n} for n in (1, 2, 3)],
        small=[{"seeds": 1}],
    ),
}
