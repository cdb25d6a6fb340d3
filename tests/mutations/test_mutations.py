"""Each mistake can still be made: what it replaces stands in its file, once."""

import ast

import pytest

from tests.mutations.mistakes import MISTAKES, TESTS
from tests.tiny import ROOT


def test_each_mistake_can_be_made():
    stale, files = [], {}
    for mistake in MISTAKES:
        text = files.setdefault(mistake.file, (ROOT / mistake.file).read_text())
        if text.count(mistake.old) != 1:
            stale.append(f"{mistake.file}: {mistake.old!r} stands {text.count(mistake.old)} times")
        elif mistake.file.endswith(".py"):
            ast.parse(mistake.made(text))
    assert not stale, "\n".join(stale)


@pytest.mark.parametrize("room", TESTS)
def test_each_room_has_mistakes_and_tests(room):
    assert sum(mistake.room == room for mistake in MISTAKES) >= 9
    assert all((ROOT / path).exists() for path in TESTS[room])
