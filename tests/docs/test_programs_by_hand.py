"""The commands by which a reader calls our programs by hand, as the pages have them."""

import os
import re
import subprocess

from tests.tiny import ROOT

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
