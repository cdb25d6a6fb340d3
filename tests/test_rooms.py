"""Each room of the library imports only from itself and those above it in docs/map.md."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tiny import ROOT

ROOMS = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/map.md").read_text(), flags=re.MULTILINE)


def imported(tree: ast.AST) -> Iterator[str]:
    """The rooms that a module imports from when it runs: names for types alone do not count."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                continue
            case ast.ImportFrom(module="bottomup"):
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module=str(module)) if module.startswith("bottomup."):
                yield module.split(".")[1]
            case ast.Import():
                names = (alias.name for alias in node.names)
                yield from (name.split(".")[1] for name in names if name.startswith("bottomup."))
        yield from imported(node)


def test_the_map_has_all_rooms():
    there = {path.parent.name for path in ROOT.glob("bottomup/*/__init__.py")}
    assert {*ROOMS} == there and len(ROOMS) == len(there)


@pytest.mark.parametrize("place", range(len(ROOMS)), ids=ROOMS)
def test_a_room_imports_from_those_above_it(place):
    below = {*ROOMS[place + 1 :]}
    wrong = [
        f"{path.relative_to(ROOT)} imports {room}"
        for path in sorted((ROOT / "bottomup" / ROOMS[place]).rglob("*.py"))
        for room in imported(ast.parse(Path(path).read_text()))
        if room in below
    ]
    assert not wrong, "\n".join(wrong)


def test_what_counts():
    text = """
if TYPE_CHECKING:
    from bottomup.plan import study
else:
    pass
from bottomup import views
def f():
    import bottomup.heads.gates
    from bottomup.core.names import RUN
"""
    assert [*imported(ast.parse(text))] == ["views", "heads", "core"]
