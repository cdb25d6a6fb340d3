"""The environments for pip and for conda are the same, and have what is asked for."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions

import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tests.workflow.checkouts import ROOT

LOCK = (ROOT / "envs/requirements.lock").read_text().splitlines()
MAKE = (ROOT / "envs/make").read_text()
CONDA = yaml.safe_load((ROOT / "envs/bottomup.yaml").read_text())


def test_conda_has_the_pins_of_the_lock():
    python, pip, pins = CONDA["dependencies"]
    assert pip == "pip" and pins == {"pip": LOCK}
    assert CONDA["channels"] == ["conda-forge"]
    # What the library asks for, and what envs/make takes.
    asked_for = SpecifierSet(python.removeprefix("python "))
    assert set(SpecifierSet(project()["requires-python"])) <= set(asked_for)
    lowest, highest = map(int, re.findall(r"\(3, (\d+)\)", MAKE))
    taken = [minor for minor in range(30) if f"3.{minor}" in asked_for]
    assert taken == list(range(lowest, highest + 1))


def test_a_pin_is_one_version_that_pip_can_read():
    for pin in map(Requirement, LOCK):
        (version,) = pin.specifier
        assert version.operator == "==" and not pin.extras and not pin.url


def test_the_lock_pins_what_is_asked_for():
    library, extras = asked()
    assert library | extras <= {line.partition("==")[0] for line in LOCK}
    assert "torch==2.13.0" in LOCK


def test_the_library_asks_for_what_it_imports():
    """But for what a user installs for one source or one annotation, as messages there say."""
    optional = {"depccg", "mtdata"}
    trees = [ast.parse(path.read_text()) for path in (ROOT / "bottomup").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {n.module for n in nodes if isinstance(n, ast.ImportFrom) and not n.level}
    roots = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
    distributions = packages_distributions()
    installed = (distributions[root][0] for root in roots - optional - {"bottomup"})
    imported = {name.lower().replace("_", "-") for name in installed}
    library, _ = asked()
    assert imported - library == {"snakemake", "pydantic-core"}  # of the workflow; of pydantic
    assert library <= imported


def asked() -> tuple[set[str], set[str]]:
    """The distributions that the library needs, and those of its extras."""
    extras = [line for lines in project()["optional-dependencies"].values() for line in lines]
    library, of_extras = (
        {re.match(r"[\w-]+", line)[0] for line in lines}
        for lines in (project()["dependencies"], extras)
    )
    return library, of_extras


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
