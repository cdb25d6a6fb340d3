"""docs/commands.md is made from the programs."""

from bottomup.workflow.commands import reference
from tests.tiny import ROOT


def test_the_reference_is_that_of_the_programs():
    found = reference()
    assert (ROOT / "docs/commands.md").read_text() == found
    programs = {path.name for path in (ROOT / "scripts").glob("*.py")}
    assert {line[6:-1] for line in found.splitlines() if line.startswith("#### ")} == programs
