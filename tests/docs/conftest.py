"""The site, built once."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny import ROOT


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The folder of the site, without one warning."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "docs", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder
