"""The licenses of installed packages: python -m bottomup.workflow.licenses > docs/licenses.md"""

import re
from importlib import metadata

from bottomup.errors import UserError
from bottomup.workflow.digest import ROOT

HEADER = """# Licenses of dependencies

The code of this repository is under the MIT license (`LICENSE`). None of the packages below is part
of it: pip fetches each from where its authors publish it. Each is listed with what it says of its
own license, in the version that `envs/requirements.lock` has.

Packages under a license with copyleft, which asks something of those who pass the package on:

{copyleft}

- `python-debian` is imported by one source of text (`package_descriptions`) and by nothing else.
  The MIT license is compatible with the GPL, and to run the two together is restricted by neither.
  This repository holds no part of python-debian and is passed on under the MIT license; who passes
  on both as one, as in an image of a container, follows the GPL for it.
- The MPL (`certifi`, `hypothesis`, `pathspec`, part of `tqdm`) asks that changed files of the
  package itself stay under it; here they are not changed.
- `docutils` has one file under the GPL, a mode for an editor, which nothing imports.

`apt-get`, `man` and `mandoc` are run as programs of the machine where they are installed. The text
of a study, checkpoints and treebanks are fetched by whoever runs it, under licenses of their own,
and nothing of them is in this repository.

All packages:
"""
FOOTER = "Made by `python -m bottomup.workflow.licenses > docs/licenses.md`."
# Packages that Linux does not need, so that they are not installed where this page is made.
OF_OTHER_SYSTEMS = {
    "appnope": "BSD License",
    "cffi": "MIT-0",
    "httpx2-jsfetch": "BSD-3-Clause",
    "pycparser": "BSD-3-Clause",
    "pyreadline3": "BSD License",
}
# What packages say in the words of a text alone.
IN_A_TEXT = {"ipadic": "of NAIST and ICOT: free to use, change and pass on with its notice"}
COPYLEFT = re.compile("GPL|MPL|GNU|Mozilla")


def page() -> str:
    """docs/licenses.md: a row for each package of the lock."""
    pins = (ROOT / "envs/requirements.lock").read_text().splitlines()
    names = sorted({pin.partition("==")[0] for pin in pins if "==" in pin})
    known = OF_OTHER_SYSTEMS | IN_A_TEXT
    found = {name: known.get(name) or stated(name) for name in names}
    copyleft = {name: text for name, text in found.items() if COPYLEFT.search(text)}
    header = HEADER.format(copyleft=_table(copyleft))
    return "\n".join([header, _table(found), "", FOOTER, ""])


def stated(name: str) -> str:
    """The license that an installed package states: an expression, its classifiers, or the first
    line of a text. UserError where it states none."""
    about = metadata.metadata(name)
    if expression := about["License-Expression"]:
        return expression
    classifiers = about.get_all("Classifier") or []
    licenses = [text for text in classifiers if text.startswith("License ::")]
    if licenses:
        return ", ".join(text.rpartition(" :: ")[2] for text in licenses)
    return (about["License"] or _license_file(name)).strip().splitlines()[0]


def _license_file(name: str) -> str:
    for path in metadata.files(name) or []:
        if path.name in ("LICENSE", "COPYING"):
            return path.read_text()
    raise UserError(f"{name} states no license; read its text and add it to IN_A_TEXT")


def _table(licenses: dict[str, str]) -> str:
    rows = [f"| {name} | {text} |" for name, text in licenses.items()]
    return "\n".join(["| package | license |", "|---|---|", *rows])


if __name__ == "__main__":
    print(page(), end="")
