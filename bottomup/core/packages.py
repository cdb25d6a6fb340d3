"""Packages that a config chooses by name: only installed ones are imported."""

import importlib.util
from pathlib import Path

INSTALLED = ("site-packages", "dist-packages")


def is_installed(package: str) -> bool:
    """Whether a package of this name would be imported from the installed packages, and not from a
    folder that Python searches first; the package is not run."""
    spec = importlib.util.find_spec(package)
    where = spec.origin if spec else None
    return where is not None and Path(where).parent.parent.name in INSTALLED
