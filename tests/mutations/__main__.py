"""The command; see the package."""

import argparse
import contextlib
import importlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from tests.mutations.mistakes import MISTAKES, TESTS, Mistake

ROOT = Path(__file__).parents[2]
LIMIT_SECONDS = 1800  # a mistake that makes the tests hang is noticed
# What most tests import, and what takes longer to import than most tests take.
HEAVY = (
    *("hypothesis", "matplotlib.pyplot", "numpy", "pandas", "pyarrow.parquet", "pydantic"),
    *("scipy.stats", "sklearn.cluster", "snakemake.api", "torch", "transformers"),
)
OURS = re.compile(r"(tests|bottomup)(\.|$)")


def copied(folder: Path) -> None:
    """What git would commit of the work tree."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    # Tests of form plan in a copy of the repository, as git has it.
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)


def files_of(room: str) -> list[str]:
    """The files of the room's tests."""
    files = (file for path in TESTS[room] for file in _tests_in(ROOT / path))
    return [str(file.relative_to(ROOT)) for file in files]


def _tests_in(path: Path) -> list[Path]:
    return sorted(path.rglob("test_*.py")) or [path]


def in_turn(module: str, files: list[str]) -> list[list[str]]:
    """`files` in the order in which they are likely to notice a mistake in a module or program:
    those that are called like it, those that name it, and all others."""
    stem = Path(module).stem
    name = re.compile(rf"\b{stem}\b")
    naming = [file for file in files if name.search((ROOT / file).read_text())]
    called = [file for file in naming if stem.rstrip("s") in Path(file).stem]
    others = [file for file in files if file not in naming]
    return [some for some in (called, [f for f in naming if f not in called], others) if some]


class _First:
    """Keeps the name of the first test that fails."""

    name = ""

    def pytest_runtest_logreport(self, report) -> None:
        if report.failed:
            self.name = self.name or report.nodeid


def first_failing(folder: Path, tests: list[str]) -> str | None:
    """The first test that fails in a copy of the repository, of these files; None if all pass.

    They run in a fork of this process, which has imported what they import of others' packages.
    """
    said = folder / ".first_failing"
    if child := os.fork():
        _, status = os.waitpid(child, 0)
        return said.read_text() if status else None
    signal.alarm(LIMIT_SECONDS)
    for name in filter(OURS.match, [*sys.modules]):
        del sys.modules[name]
    sys.path[:] = [str(folder), *(path for path in sys.path if Path(path).resolve() != ROOT)]
    os.environ.update(PYTHONPATH="", OMP_NUM_THREADS="1")
    os.chdir(folder)
    said.write_text("a test that ends pytest, or does not end")
    found = _First()
    with (folder / ".output").open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        options = ["-x", "-n", "0", "-p", "no:cacheprovider", "--tb=short"]
        status = pytest.main([*options, *tests], plugins=[found])
    said.write_text(found.name or f"pytest ends with {status!r}")
    os._exit(int(status))


def noticed_by(mistake: Mistake) -> str | None:
    """The first test of the mistake's room that fails in a copy which has it."""
    with tempfile.TemporaryDirectory() as name:
        copied(folder := Path(name))
        path = folder / mistake.file
        path.write_text(mistake.made(path.read_text()))
        groups = in_turn(mistake.file, files_of(mistake.room))
        return next(filter(None, (first_failing(folder, some) for some in groups)), None)


def failing_without(room: str) -> str | None:
    """The first test of a room that fails without any mistake."""
    with tempfile.TemporaryDirectory() as name:
        copied(folder := Path(name))
        return first_failing(folder, files_of(room))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rooms", nargs="*", choices=[[], *TESTS], default=[*TESTS])
    parser.add_argument("--of", default="", help="only mistakes in files that have this in a path")
    given = parser.parse_args()
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    tried, seen = Counter(), Counter()
    for room in given.rooms:
        if not given.of and (failing := failing_without(room)):
            sys.exit(f"error: {failing} fails without any mistake")
        for mistake in MISTAKES:
            if mistake.room != room or given.of not in mistake.file:
                continue
            found = noticed_by(mistake)
            tried[room] += 1
            seen[room] += bool(found)
            said = f"{mistake.file}: {mistake.old!r} -> {mistake.new!r}"
            print(f"{found or 'SURVIVED'}: {said}", flush=True)
    for room, count in tried.items():
        print(f"{room}: noticed {seen[room]} of {count}")


if __name__ == "__main__":
    main()
