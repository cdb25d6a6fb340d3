"""Notebooks are kept without what they showed; those on a study say what it takes, where none is.

CI runs them all on the smoke study (.ci/run).
"""

import subprocess
import sys

import nbformat
import pytest

from bottomup.plan.digest import ROOT
from tests.plan.imports import imported

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
NEEDS_NO_STUDY = ["matrices"]


def named(notebooks):
    return pytest.mark.parametrize("notebook", notebooks, ids=lambda notebook: notebook.stem)


def code(notebook):
    return [cell.source for cell in read(notebook).cells if cell.cell_type == "code"]


def read(notebook):
    return nbformat.read(notebook, as_version=4)


@named(NOTEBOOKS)
def test_it_is_kept_as_it_is_before_it_runs(notebook):
    content = read(notebook)
    nbformat.validate(content)
    cells = [cell for cell in content.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in cells)
    assert content.metadata.kernelspec.name == "python3"


@named([notebook for notebook in NOTEBOOKS if notebook.stem not in NEEDS_NO_STUDY])
def test_without_a_study_it_says_how_to_make_one(notebook, tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    first, *_ = code(notebook)
    with pytest.raises(SystemExit, match=r"^\.\./results/smoke is not there .*: run, .*"):
        exec(first, {})
    command = first.partition('"./')[2].partition('"')[0]
    assert all((ROOT / file).exists() for file in command.split() if not file.startswith("-"))


@named([ROOT / f"notebooks/{name}.ipynb" for name in NEEDS_NO_STUDY])
def test_without_a_study_it_needs_the_library_alone(notebook, tmp_path):
    """Neither Snakemake, nor the folder of the repository."""
    path = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.modules['snakemake'] = None"
    program = "\n".join([path, *code(notebook)])
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)


def test_nothing_outside_its_workflow_needs_snakemake():
    files = [path.relative_to(ROOT) for path in (ROOT / "bottomup").rglob("*.py")]
    modules = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files]
    library = [name for name in modules if not name.startswith("bottomup.plan")]
    reached = imported("scripts/train.py", *library)
    needing = [name for name in reached if _imports_snakemake(name)]
    assert len(reached) >= len(library) - 10 > 100 and needing == []
    assert _imports_snakemake("bottomup.plan.progress")


def _imports_snakemake(module):
    path = ROOT.joinpath(*module.split("."))
    file = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
    text = file.read_text()
    return "\nimport snakemake" in text or "\nfrom snakemake" in text
