"""Faults in the middle of a training on a cluster: each study ends with the tables of one that was
left alone. Where `retries` is 0 the fault takes no attempt that is meant for errors."""

import os
import re
import signal
import subprocess
import time

import pytest

from tests.slurm.conftest import ASKED
from tests.slurm.studies import RESULTS, wait_for

pytestmark = pytest.mark.skipif(
    ASKED != "faults", reason="half an hour of faults: SLURM_TESTS=faults"
)


@pytest.fixture
def study(undisturbed, tmp_path):
    """The study with its text prepared, and nothing trained."""
    study = undisturbed.copy(tmp_path / "study")
    study.forget("trained", *(RESULTS / part for part in ("runs", "views", "measures")))
    yield study
    study.process.kill()
    study.cluster("scancel", "--user=root")


@pytest.fixture
def ends_alike(undisturbed, study):
    def check():
        assert study.finish() == 0, study.log()
        assert study.tables() == undisturbed.tables()
        assert "Nothing to be done" in study.plan()

    return check


def trainings(study) -> list[str]:
    """Jobs of this study, in order."""
    return re.findall(r"SLURM jobid (\d+) \(log: \S+/rule_train_lm/", study.log())


def program(script: str) -> int:
    """The process that runs a script of this study."""
    command = rf"pgrep -f '^python scripts/{script}\.py .* results/slurm/'"
    return int(wait_for(script, lambda: subprocess.getoutput(command)))


def test_training_is_cancelled(study, cluster, ends_alike):
    study.start()
    cluster("scancel", study.training())
    ends_alike()


def test_training_is_queued_again(study, cluster, ends_alike):
    study.start("--retries", "0")
    job = study.training()
    cluster("scontrol", "requeue", job)
    ends_alike()
    assert cluster.field(job, "Restarts") == "1"


def test_training_is_preempted(study, cluster, ends_alike):
    study.start("--retries", "0", "--default-resources", "slurm_partition=scavenger")
    job = study.training()
    cluster("sbatch", "--partition=main", "--cpus-per-task=8", "--wrap=sleep 5", "-o", "/dev/null")
    ends_alike()
    assert int(cluster.field(job, "Restarts")) >= 1


def test_time_limit_is_shorter_than_the_training(study, cluster, ends_alike):
    study.start("--retries", "0", "--resources", "runtime=1", "gpu=1")
    job = study.training()
    pid = program("train")
    os.kill(pid, signal.SIGSTOP)  # for longer than it has
    time.sleep(35)
    os.kill(pid, signal.SIGCONT)
    ends_alike()
    assert cluster.field(job, "TimeLimit") == "00:01:00"
    assert int(cluster.field(job, "Restarts")) >= 1


def test_node_goes_down(study, cluster, ends_alike):
    study.start("--retries", "0")
    job = study.training()
    node = cluster.field(job, "NodeList")
    cluster("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")
    ends_alike()  # the node comes back by itself
    assert int(cluster.field(job, "Restarts")) >= 1


def test_snakemake_is_killed(study, cluster, ends_alike):
    """What it left is cancelled by the run's name, as the docs say; no lock is left."""
    study.start()
    study.training()
    study.kill()
    study.cancel()
    study.start("--retries", "0")
    ends_alike()
    assert len(trainings(study)) == 2


def test_snakemake_is_killed_and_its_jobs_run_on(study, cluster, ends_alike):
    """The new training waits for the old one, and takes its model."""
    study.start()
    old = study.training()
    study.kill()
    study.start("--retries", "0")
    ends_alike()
    assert cluster.field(old, "JobState") == "COMPLETED"


def test_training_takes_too_much_memory(study, cluster, ends_alike):
    """SLURM kills it, and it asks for twice as much; here it is killed as a kernel kills."""
    study.start()
    study.training()
    os.kill(program("train"), signal.SIGKILL)
    ends_alike()
    first, second = trainings(study)
    assert cluster.megabytes(second) > 1.9 * cluster.megabytes(first)


def test_disk_is_full(study, cluster, ends_alike):
    """Once there is space the same command goes on."""
    runs = study.path / RESULTS / "runs"
    runs.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(runs)]
    if subprocess.run(mount).returncode:
        pytest.skip("no tmpfs can be mounted")
    try:
        study.start("--retries", "0")
        assert study.finish() == 1
        assert "error: " in study.log() and "No space left" in study.log()
        subprocess.run(["mount", "-o", "remount,size=100m", str(runs)], check=True)
        study.start()
        ends_alike()
    finally:
        subprocess.run(["umount", "--lazy", str(runs)], check=True)


@pytest.mark.parametrize(
    ("daemons", "number"),
    [
        (["slurmctld"], signal.SIGTERM),
        (["slurmctld"], signal.SIGKILL),
        (["slurmdbd"], signal.SIGKILL),
        (["slurmctld", "slurmdbd"], signal.SIGKILL),
    ],
)
def test_daemons_go_away_for_a_while(study, cluster, ends_alike, daemons, number):
    """The training runs on, and Snakemake asks until there is an answer."""
    study.start("--retries", "0")
    study.training()
    cluster.away(*daemons, number=number)
    ends_alike()
    assert len(trainings(study)) == 1


@pytest.mark.parametrize("hours", [-1, 1])
def test_clock_of_a_node_is_slow_or_fast(study, cluster, ends_alike, hours):
    study.dated(RESULTS / "corpus", hours=hours)
    study.start("--retries", "0")
    ends_alike()
    assert len(trainings(study)) == 1


def test_one_job_of_a_group_fails(study, cluster, ends_alike):
    """The whole group is tried once more."""
    study.start()
    os.kill(program("extract_views"), signal.SIGKILL)
    ends_alike()
    first, second = re.findall(r"SLURM jobid (\d+) \(log: \S+/group_look_at_lm-1", study.log())
    assert cluster.megabytes(second) > 1.9 * cluster.megabytes(first)
