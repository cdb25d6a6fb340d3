"""A SLURM of one node, where it is asked for: it is installed and started as root.

SLURM_TESTS=study runs a study on it, SLURM_TESTS=faults every fault of docs/slurm.md as well,
which takes half an hour.
"""

import os
import shutil
import subprocess

import pytest

from tests.slurm.studies import CLUSTER, Cluster, Study

ASKED = os.environ.get("SLURM_TESTS", "")


def reason_to_skip() -> str | None:
    if ASKED not in ("study", "faults"):
        return "it installs and starts a SLURM: SLURM_TESTS=study, or faults for these, too"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return "a SLURM is started only as root on Debian"
    return None


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    if reason := reason_to_skip():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("cluster")
    cluster = Cluster(folder, accounting=ASKED == "faults")
    started = cluster.start()
    if started.returncode == 77:
        pytest.skip(f"no packages of SLURM: {started.stdout}")
    assert started.returncode == 0, started.stderr
    yield cluster
    subprocess.run([CLUSTER, "stop", folder], check=True)


@pytest.fixture(scope="session")
def undisturbed(cluster, tmp_path_factory) -> Study:
    """The study after a local run; not to be edited."""
    study = Study.new(tmp_path_factory.mktemp("undisturbed") / "study", cluster)
    study.run(profile=False)
    return study
