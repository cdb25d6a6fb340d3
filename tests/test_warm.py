"""What `tests/warm.py` imports before a program starts is nothing of this repository."""

import subprocess
import sys

from tests.plan.checkouts import ROOT
from tests.warm import OF_PROGRAMS, warm


def test_a_warm_program_finds_no_module_of_this_repository(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "for module in sys.modules.values():\n"
        "    print(getattr(module, '__file__', None))\n"
    )
    with warm(*OF_PROGRAMS) as python:
        done = subprocess.run([python, program], capture_output=True, text=True, check=True)
    files = done.stdout.split()
    assert any("/torch/" in file for file in files)
    own = [file for file in files if file.startswith(f"{ROOT}/") and ".venv" not in file]
    assert own == []


def test_a_warm_program_reads_what_bash_writes_for_it(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint(*(open(path).read() for path in sys.argv[1:]))\n")
    with warm("json") as python:
        command = f"{python} {program} <(echo one) <(echo two)"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["one", "two"]


def test_a_warm_program_runs_from_a_folder_with_a_space(tmp_path, monkeypatch):
    there = tmp_path / "a folder/python"
    there.parent.mkdir()
    there.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(there))
    with warm("json") as python:
        done = subprocess.run([python, "-m", "this"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("The Zen of Python")


def test_a_server_that_cannot_start_keeps_no_program_waiting(capfd):
    with warm("no_such_module") as python:
        done = subprocess.run([python, "-m", "this"], capture_output=True, timeout=60)
    assert done.returncode != 0
    assert "No module named 'no_such_module'" in capfd.readouterr().err
