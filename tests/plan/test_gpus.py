"""A GPU is asked for where a program uses one, and nowhere else."""

import ast
import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from functools import cache

import pytest

from bottomup.plan import digest
from tests.plan.checkouts import ROOT
from tests.plan.imports import imported

pytestmark = pytest.mark.long

SOURCES = [*(ROOT / "bottomup").rglob("*.py"), *(ROOT / "scripts").glob("*.py")]
IMPORTED = """
import importlib, runpy, sys, torch
def started(*_):
    raise RuntimeError("CUDA was started")
for name in ("is_available", "device_count", "_lazy_init"):
    setattr(torch.cuda, name, started)
for name in sys.argv[1:]:
    if name.endswith(".py"):
        runpy.run_path(name, run_name="imported")
    else:
        importlib.import_module(name)
"""


@cache
def calls_device(file):
    """Whether a file calls `bottomup.core.device.device`, by whatever name it imports it."""
    nodes = [*ast.walk(ast.parse(file.read_text()))]
    names = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == "bottomup.core.device"
        for alias in node.names
    }
    return any(
        isinstance(node, ast.Call) and getattr(node.func, "id", "") in names for node in nodes
    )


@dataclass(frozen=True)
class Job:
    """What a dry run says of a job: how many GPUs it asks for and, where its command says so, its
    program is told that it has; and the files of its code."""

    rule: str
    outputs: str
    asked: int
    told: int | None
    code: list[str]

    @property
    def uses(self):
        return any(calls_device(ROOT / name) for name in self.code if name.endswith(".py"))


def jobs(checkout, *arguments):
    """The jobs of the whole study that have a program."""
    whole = ["--dry-run", "--forceall", "--printshellcmds", "--configfile", "study.yaml"]
    shown = checkout.snakemake(*whole, *arguments).stdout
    for block in re.split(r"\n(?:local)?rule ", shown)[1:]:
        if command := re.search(r"^Shell command: (python .*)$", block, re.M):
            words = shlex.split(command[1])
            settings = json.loads(words[words.index("--settings") + 1])
            yield Job(
                block.partition(":")[0],
                re.search(r"^ +output: (.*)$", block, re.M)[1],
                int(re.search(r"^ +resources:.*\bgpu=(\d+)", block, re.M)[1]),
                int(words[words.index("--gpus") + 1]) if "--gpus" in words else None,
                [*settings["code"]],
            )


def test_a_wide_study_asks_where_a_program_uses_one(checkout, outputs):
    """But for what the command line says of a rule."""
    checkout.edit("study.yaml", "d_model: 64", "d_model: 256")
    checkout.edit("study.yaml", "{occurrences: 300}", "{occurrences: 1024}")
    found = [*jobs(checkout, "--set-resources", "train_lm:gpu=0")]
    assert {job.rule for job in found} == set(outputs.rules.values())
    asked = {job.rule for job in found if job.asked}
    assert asked == {job.rule for job in found if job.uses} - {"train_lm"}
    assert all(job.asked == job.uses for job in found if job.rule != "train_lm")
    assert all(job.told == job.asked for job in found if job.uses)


def test_a_narrow_study_asks_for_its_checkpoints_alone(checkout):
    checkout.edit("study.yaml", "occurrences: {n: 1000,", "occurrences: {unit: word, n: 1000,")
    checkout.edit(
        "study.yaml", "seeds: [1, 2]", "seeds: [1, 2]\ncheckpoints: {bert: {package: a==1}}"
    )
    found = [*jobs(checkout)]
    assert all(
        job.asked == (job.uses and bool(re.search(r"\bbert[_-]", job.outputs))) for job in found
    )
    assert all(job.told == job.asked for job in found if job.uses)
    assert {job.rule for job in found if job.asked} >= {
        *("extract_views", "measure_influence", "measure_neighbors"),
        *("measure_head_importance", "measure_head_functions"),
    }


@pytest.mark.parametrize("gpus", [0, 1])
def test_a_profile_has_the_last_word(checkout, gpus):
    """Of a cluster without any, and of one whose narrow studies shall use them."""
    found = [
        *jobs(checkout, "--default-resources", f"gpu={gpus}", "--set-resources", "train_lm:gpu=3")
    ]
    assert {job.asked for job in found if job.rule == "train_lm"} == {3}
    others = [job for job in found if job.rule != "train_lm"]
    assert all(job.asked == gpus * job.uses for job in others)
    assert any(job.uses for job in others) and not all(job.uses for job in others)


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_who_imports_the_choice_of_a_device_makes_it_and_nobody_else(file):
    """So that imports tell whose programs use one."""
    assert ("bottomup.core.device" in digest._names(file)) == calls_device(file)
    others = re.findall(r"is_available|device_count|\.cuda\(|device\([\"']cuda", file.read_text())
    assert file.name in ("device.py", "leases.py") or not others


def test_importing_programs_starts_no_cuda():
    """What is visible is read when it starts: hidden later, a GPU would still be used."""
    names = ["scripts/measure.py"]
    for file in map(str, (file.relative_to(ROOT) for file in SOURCES)):
        if file.startswith("scripts/") and "bottomup.core.device" in imported(file):
            names.append(file)
        if file.startswith(("bottomup/tables/", "bottomup/objectives/")):
            names.append(file.removesuffix(".py").replace("/", "."))
    subprocess.run([sys.executable, "-c", IMPORTED, *names], cwd=ROOT, check=True)
