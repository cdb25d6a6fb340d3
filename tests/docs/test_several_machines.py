"""The commands by which a reader starts one training on several machines, on this one."""

import os
import re
import subprocess

from tests.tiny import ROOT

PAGE = (ROOT / "docs/running.md").read_text().split("## On several machines\n")[1]
HERE = {
    "srun ": "",
    "--nnodes 2": "--nnodes 1",
    "--nproc-per-node 4": "--nproc-per-node 1",
    "$(hostname)": "localhost:0",
    "...": "--help",
}


def test_the_commands_find_the_program_and_its_library():
    script = re.search(r"```bash\n(.*?)```", PAGE, re.S)[1]
    for there, here in HERE.items():
        assert script.count(there) == 1
        script = script.replace(there, here)
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        ["bash", "-e"], cwd=ROOT, input=script.encode(), env=bare, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"--heads-from" in done.stdout
