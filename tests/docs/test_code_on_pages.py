"""The files that tutorials show would pass the checks of form where a reader writes them."""

import subprocess
import sys

import pytest

from tests.tiny import ROOT
from tests.tutorials import files_in

SHOWN = {
    name: text
    for page in sorted((ROOT / "docs/tutorials").glob("*.md"))
    for name, text in files_in(page.stem).items()
    if name.endswith(".py")
}


@pytest.mark.parametrize("check", [["check"], ["format", "--check"]], ids=["lint", "format"])
@pytest.mark.parametrize("name", SHOWN)
def test_a_file_of_a_tutorial_has_the_form_of_ours(name, check):
    above = ROOT / name  # a claim is added at the end of a file
    text = f"{above.read_text()}\n\n{SHOWN[name]}" if above.exists() else SHOWN[name]
    ruff = [sys.executable, "-m", "ruff", *check, "--stdin-filename", name, "-"]
    done = subprocess.run(ruff, cwd=ROOT, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
