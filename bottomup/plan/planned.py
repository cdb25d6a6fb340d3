"""A job runs the code and the packages that it was planned with, or it ends in one line.

Between a plan and its jobs lie minutes or days, and on a cluster another machine. A file may be
edited meanwhile, a branch switched and back, a package installed. What ran would then be recorded,
and kept in `trained/`, as what was planned. So the modules of the project, and others that are no
part of an installed package, are read by the importer below, which notes what it read. It reads no
bytecode: Python compares only size and second of its source, and so may miss an edit.

A program imports this module first, since it watches all imports after its own.
"""

import json
import multiprocessing
import os
import sys
from collections.abc import Mapping
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, ModuleType

from bottomup.core.errors import UserError
from bottomup.plan.digest import ROOT, facts_of, files_of_shown, installed, is_own, key_of

AGAIN = "run the same command again, which plans anew"

_plan: dict[str, str] = {}
_read: dict[str, tuple[str, ...]] = {}  # by file, as a plan names it, the digests of what was read
_is_strict = False


class _Loader(SourceFileLoader):
    """Compiles a module from its source, and notes the digests of that source."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        source = self.get_data(path)
        _take(Path(path), source)
        return self.source_to_code(source, path)


class _Extension(ExtensionFileLoader):
    """Loads an extension module, and notes the digest of its bytes."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        _take(Path(self.path), Path(self.path).read_bytes())
        return super().create_module(spec)


class _Finder:
    """Finds the modules that are no part of an installed package."""

    @staticmethod
    def find_spec(fullname: str, path=None, target=None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target)
        if not spec or not spec.origin or not is_own(spec.origin):
            return None
        if isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(fullname, spec.origin)
        elif isinstance(spec.loader, ExtensionFileLoader):
            spec.loader = _Extension(fullname, spec.origin)
        return spec


def _watch(arguments: list[str]) -> None:
    """Note what is imported from now on, if the arguments of a program hold a plan.

    In a process that another one started by `multiprocessing`, an import of what was not planned
    fails at once.
    """
    global _is_strict
    try:
        settings = json.loads(arguments[arguments.index("--settings") + 1])
        _plan.update(settings["code"])
    except (ValueError, LookupError, TypeError):
        return  # started by hand
    _is_strict = multiprocessing.parent_process() is not None
    sys.meta_path.insert(0, _Finder)
    _take_imported()


def require(plan: Mapping[str, str]) -> None:
    """Raise UserError unless this process runs the code and the packages of a plan; from here on,
    importing anything else raises it, too.

    plan: by file the digest of its code, by package its version.
    """
    global _is_strict
    _plan.update(plan)
    for name, planned in plan.items():
        if "." in name:  # a file: no normal name of a package has one
            continue
        version = installed(name) or ""
        # A lock has no local versions, such as 2.13.0+cpu.
        if planned not in (version, version.partition("+")[0]):
            raise UserError(
                f"planned with {name} {planned}, but runs with {version or 'none'} "
                f"({sys.executable}); install that version, or {AGAIN}"
            )
    _take_imported()
    _require_script()
    for name in _read:
        _compare(name)
    _is_strict = True


def _take_imported() -> None:
    """Note the modules that were imported before this one, as their files are now. That is what was
    read, unless a file was edited in the hundredths of a second since then."""
    folder = os.getcwd()
    for module in [*sys.modules.values()]:
        file = os.path.join(folder, getattr(module, "__file__", None) or "")
        # Modules that torch makes while it runs have the name of a file, without a folder.
        if not is_own(file) or not (path := Path(file)).is_file() or key_of(path) in _read:
            continue
        # Others from elsewhere, such as a sitecustomize, Python itself imports as it starts.
        if key_of(path) in _plan or path.is_relative_to(ROOT):
            _take(path, path.read_bytes())


def _require_script() -> None:
    """Raise UserError if the running program was compiled from another source than its file has."""
    frame: FrameType | None = sys._getframe()
    while frame and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    if frame and frame.f_globals is vars(sys.modules["__main__"]):
        path = Path(frame.f_code.co_filename).absolute()
        source = path.read_bytes()
        _take(path, source)
        # Python does not keep the source that it compiled, but equal sources give equal code.
        if compile(source, path, "exec", dont_inherit=True) != frame.f_code:
            raise UserError(f"{key_of(path)} was edited as this job started; {AGAIN}")


def _take(file: Path, source: bytes) -> None:
    name = key_of(file)
    if name in _plan:
        _read[name] = tuple(facts_of(file, source)["digests"])
    elif _plan:
        _read[name] = ()
    if _is_strict and name in _read:
        _compare(name)


def _compare(name: str) -> None:
    if name not in _plan:
        if name in files_of_shown():
            return
        raise UserError(
            f"{name} is no part of what this job was planned with: added since, or another branch; "
            f"{AGAIN}; or a module whose name the code computes: import it by a statement"
        )
    if _plan[name] not in _read[name]:
        raise UserError(
            f"{name} is not as it was when this job was planned: edited since, or another branch; "
            f"{AGAIN}"
        )


_watch(sys.argv)
