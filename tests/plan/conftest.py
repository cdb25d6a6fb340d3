"""The workflow's fixtures: the study after a run, and copies of it to edit."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bottomup.core.running import alone
from tests.plan.checkouts import RESULTS, Checkout, Outputs, copy_repository
from tests.warm import warm


@pytest.fixture(scope="session")
def python() -> Iterator[Path]:
    """A Python that has imported Snakemake, and what else a plan imports."""
    of_snakemake = ("snakemake.cli", "snakemake.report", "smart_open")
    of_config = ("pydantic", "pandas", "pyarrow.parquet", "tokenizers", "langcodes")
    with warm(*of_snakemake, *of_config) as program:
        yield program


@pytest.fixture(scope="session")
def built(tmp_path_factory, python) -> Checkout:
    """The copy after its study was run; not to be edited. Processes of one test run share it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with alone(folder / "built.lock"):
        if not (folder / "built").exists():
            build(folder / "being-built", python).rename(folder / "built")
    return Checkout(folder / "built", python)


def build(folder: Path, python: Path) -> Path:
    """The folder, with a copy of the repository whose study was run."""
    checkout = copy_repository(folder, python)
    for output in checkout.summary():
        path = checkout.path / RESULTS / output
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(output)
    checkout.snakemake("--touch", "--forceall", "--cores", "1", "--configfile", "study.yaml")
    return checkout.path


@pytest.fixture(scope="session")
def unbuilt(tmp_path_factory) -> Path:
    """A copy in which nothing was run, to plan all of."""
    return copy_repository(tmp_path_factory.mktemp("workflow") / "unbuilt").path


@pytest.fixture(scope="session")
def outputs(built) -> Outputs:
    """What the study makes, by rule."""
    return Outputs({output: rule for output, (rule, _) in built.summary().items()})


@pytest.fixture(scope="session")
def edited(tmp_path_factory) -> Path:
    """Where tests edit, one after the other."""
    return tmp_path_factory.mktemp("workflow") / "edited"


@pytest.fixture
def checkout(built, edited) -> Checkout:
    """A copy of the copy, to edit."""
    return built.mirrored(edited)
