"""The commands by which a reader calls our programs by hand, as the pages have them."""

import os
import re
import subprocess
import sys

import pytest

from tests.docs.test_links import PAGES
from tests.tiny import ROOT

CALL = re.compile(r"(?:^|`)(?: {4})?(?:[A-Z_]+=\S+ )*(snakemake (?:[^`\n]|\\\n)+)", re.MULTILINE)
WITHOUT_CORES = {"--profile", "--dry-run", "-n", "--report", "--help", "--lint", "--list-changes"}
SEVERAL = {
    "srun ": "",
    "--nnodes 2": "--nnodes 1",
    "--nproc-per-node 4": "--nproc-per-node 1",
    "$(hostname)": "localhost:0",
    "...": "--help",
}
DAMAGED = {
    "snakemake results/default/... --cores all": "",
    "snakemake --cores all ": "",
    "results/default  ": "results/none",
    "results/default ": "results/none ",
}


def called(page, heading, here):
    """What the first block under a heading does in a new shell, with what stands in `here` put in
    place of what stands on the page."""
    script = (ROOT / page).read_text().split(f"## {heading}\n")[1]
    script = re.search(r"```bash\n(.*?)```", script, re.S)[1]
    for there, own in here.items():
        assert script.count(there) == 1
        script = script.replace(there, own)
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        ["bash"], cwd=ROOT, input=script, env=bare, capture_output=True, text=True
    )


def test_a_training_on_several_machines_starts():
    done = called("docs/running.md", "On several machines", SEVERAL)
    assert done.returncode == 0, done.stderr
    assert "--heads-from" in done.stdout


def test_the_search_for_damage_starts():
    done = called("docs/interruptions.md", "Damaged results", DAMAGED)
    line = "error: no folder results/none; expected results/<study>, where it was made"
    assert done.stderr.splitlines() == [line] * 2


@pytest.mark.parametrize("page", [page for page in PAGES if page != "docs/log.md"])
def test_a_call_of_snakemake_names_its_cores_or_needs_none(page):
    for call in CALL.findall((ROOT / page).read_text()):
        words = {*call.partition(" #")[0].split()}
        assert words & {"--cores", "...", *WITHOUT_CORES}, call


PROGRAMS = re.compile(r"python (?:-m )?((?:tests|benchmarks|bottomup|scripts)[./]\w[./\w]*)")


def test_each_program_of_a_page_says_what_it_takes():
    """By --help, whoever wrote it: none takes that for a name or starts to work."""
    named = {name for page in PAGES for name in PROGRAMS.findall((ROOT / page).read_text())}
    assert len(named) > 10
    for name in named:
        path = ROOT / name.removesuffix(".py").replace(".", "/")
        file = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
        assert re.search(r"argparse\.ArgumentParser\(|program\.parser\(", file.read_text()), name


def test_a_study_that_is_not_there_is_a_line():
    every = [sys.executable, "-m", "tests.every_study", "smoke", "smok"]
    done = subprocess.run(every, cwd=ROOT, capture_output=True, text=True)
    found = "error: argument STUDY: found smok; allowed: a name that ./study --help lists\n"
    assert done.returncode == 2 and done.stderr.endswith(found)
