"""The command; see the package."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutations.mistakes import MISTAKES, TESTS, Mistake
from tests.tiny import ROOT

LIMIT_SECONDS = 1800  # a mistake that makes the tests hang is noticed


def copied(folder: Path) -> None:
    """What git would commit of the work tree."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def passes(folder: Path, tests: list[str]) -> bool:
    """Whether these tests pass in a copy."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": "", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=folder,
            env=environment,
            capture_output=True,
            timeout=LIMIT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def noticed(mistake: Mistake) -> bool:
    """Whether a test of the mistake's room fails in a copy that has it."""
    with tempfile.TemporaryDirectory() as name:
        copied(folder := Path(name))
        # Tests of form plan in a copy of the repository, as git has it.
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        path = folder / mistake.file
        path.write_text(mistake.made(path.read_text()))
        return not passes(folder, TESTS[mistake.room])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rooms", nargs="*", choices=[[], *TESTS], default=[*TESTS])
    parser.add_argument("--jobs", type=int, default=1, help="mistakes to try side by side")
    given = parser.parse_args()
    asked = [mistake for mistake in MISTAKES if mistake.room in given.rooms]
    tried, seen = Counter(), Counter()
    with ThreadPoolExecutor(given.jobs) as pool:
        for mistake, found in zip(asked, pool.map(noticed, asked), strict=True):
            tried[mistake.room] += 1
            seen[mistake.room] += found
            if not found:
                print(f"survived: {mistake.file}: {mistake.old!r} -> {mistake.new!r}", flush=True)
    for room, count in tried.items():
        print(f"{room}: noticed {seen[room]} of {count}")


if __name__ == "__main__":
    main()
