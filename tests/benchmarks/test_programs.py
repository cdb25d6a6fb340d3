"""Programs that compare studies of this project, or have no peer: that they still start. Nothing
else of CI runs them."""

import importlib

import pytest

from tests.tiny import ROOT

PROGRAMS = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_can_be_imported(name):
    importlib.import_module(name)
