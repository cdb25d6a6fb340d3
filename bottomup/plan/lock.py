"""The lock: the versions of packages from which environments are made."""

import re
from collections.abc import Iterator
from functools import cache

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet

from bottomup.plan.digest import PYTHON, ROOT, installed, normal

MOST = 3  # packages that a line names


@cache
def of_conda() -> dict[str, str]:
    """The versions in an environment that conda makes: of Python, and by distribution."""
    asked = re.search(r"- python ==(\d+\.\d+)", (ROOT / "envs/bottomup.yaml").read_text())
    assert asked  # as envs/lock writes it
    there = {"python_version": asked[1], "python_full_version": f"{asked[1]}.99"}
    pins = {
        name: version
        for name, version, machines in _pins()
        if not machines or Marker(machines).evaluate(there)
    }
    return pins | {PYTHON: asked[1]}


def _pins() -> Iterator[tuple[str, str, str]]:
    """Each pin of the lock: the distribution, its version, and the marker of its machines ("" for
    all)."""
    for line in (ROOT / "envs/requirements.lock").read_text().splitlines():
        if pin := re.match(r"([\w.-]+)==([^\s;\\]+)\s*(?:;([^\\]*))?", line):
            yield normal(pin[1]), pin[2], (pin[3] or "").strip()


def unlike_the_lock() -> str | None:
    """A line that names the first packages whose installed version is not the locked one, if there
    are any."""
    others = []
    for name, version, machines in _pins():
        if machines and not Marker(machines).evaluate():
            continue
        actual = installed(name)
        # Like pip, let 2.13.0+cpu count as 2.13.0.
        if actual is None or not SpecifierSet(f"=={version}").contains(actual, prereleases=True):
            others.append(f"{name} {actual or 'none'} instead of {version}")
    if not others:
        return None
    more = f" and {len(others) - MOST} more" * (len(others) > MOST)
    return (
        f"installed packages are not those of envs/requirements.lock: {', '.join(others[:MOST])}"
        f"{more}; results count as made with what is installed; for the locked ones: envs/make"
    )
