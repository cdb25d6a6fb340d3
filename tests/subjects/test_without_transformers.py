"""What works on a study's own runs does not import transformers, which takes longer than most
jobs compute."""

import subprocess
import sys

import pytest

from bottomup.training.run import save
from tests.subjects import families
from tests.subjects.families import FAMILIES
from tests.tiny import ROOT, drawn

OF_CHECKPOINTS = {"open_checkpoint"}
SCRIPTS = {path.stem for path in (ROOT / "scripts").glob("*.py")}
USED = """
import runpy, sys
from pathlib import Path
from bottomup import subjects
from bottomup.subjects.words import encode
*scripts, folder = sys.argv[1:]
for script in scripts:
    runpy.run_path(f"scripts/{script}.py", run_name="imported")
subject, twin = subjects.load(folder), subjects.untrained(folder, 1)
ids = encode(subject.tokenizer, ["five cats"], [[(0, 4)]], None).tokens.ids
assert len(ids)
subject.save_model(Path(folder))
subject.save_tokenizer(Path(folder))
print("transformers" in sys.modules)
"""


def imports_transformers(folder, *scripts):
    """Whether importing programs, opening a model and encoding a text does so."""
    command = [sys.executable, "-c", USED, *scripts, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split()[-1] == "True"


@pytest.mark.long
@pytest.mark.parametrize("trunk", [None, "lstm"])
def test_programs_over_runs_do_not_import_it(tmp_path, corpus_files, trunk):
    save(drawn("mlm", trunk=trunk), corpus_files.tokenizers("mlm"), tmp_path)
    assert not imports_transformers(tmp_path, *sorted(SCRIPTS - OF_CHECKPOINTS))


@pytest.mark.long
def test_a_checkpoint_needs_it(tmp_path):
    assert imports_transformers(families.save(FAMILIES["bert"], tmp_path))
