"""One job, one GPU: several processes share pretend GPUs, and some of them are killed."""

import os
import signal
import subprocess
import sys
from itertools import pairwise

import pytest

from bottomup.core.running import TORCHRUN
from tests.plan.checkouts import ROOT

# A job on a machine with as many GPUs as PRETEND says, which names those that it has, and then does
# what it was told. The library asks PyTorch for their number, and nobody else.
JOB = """
import logging, os, sys, time, types

def device_count():
    assert os.getpid() != job, "CUDA was started"
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    there = int(os.environ["PRETEND"])
    return there if listed is None else min(there, len([n for n in listed.split(",") if n]))

job = os.getpid()
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(is_built=lambda: True))
cuda = types.SimpleNamespace(device_count=device_count)
sys.modules["torch"] = types.SimpleNamespace(backends=backends, cuda=cuda)
from bottomup.core.errors import UserError
from bottomup.plan import leases

logging.basicConfig(level=logging.INFO)
leases.PAUSE_SECONDS = 0.02
try:
    leases.lease(int(sys.argv[1]))
except UserError as error:
    sys.exit(f"error: {error}")
print(os.environ.get("CUDA_VISIBLE_DEVICES"), time.monotonic(), flush=True)
exec(sys.argv[2])
print("end", time.monotonic(), flush=True)
"""


@pytest.fixture
def start(tmp_path):
    """Start a job that was given GPUs, of `pretend` that the machine has."""
    jobs = []

    def start(gpus=1, then="time.sleep(60)", pretend=2, **environment):
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CUDA", "SLURM", *TORCHRUN))
        }
        inherited |= {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path), "PRETEND": str(pretend)}
        job = subprocess.Popen(
            [sys.executable, "-c", JOB, str(gpus), then],
            env=inherited | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        jobs.append(job)
        return job

    yield start
    for job in jobs:
        job.kill()
        job.communicate()


def sees(job):
    """What a job has in CUDA_VISIBLE_DEVICES, once it has any."""
    line = job.stdout.readline()
    assert line, job.stderr.read()
    return line.split()[0]


def waits(job):
    """That it says so."""
    return (
        "waiting until other jobs are done with a GPU" in job.stderr.readline()
        and job.poll() is None
    )


def kill(job):
    job.kill()
    job.wait()


def test_each_job_has_one_of_its_own_and_the_next_waits_for_a_killed_one(start):
    first, second = start(), start()
    of_first, of_second = sees(first), sees(second)
    assert {of_first, of_second} == {"0", "1"}
    third = start()
    assert waits(third)
    kill(first)
    assert sees(third) == of_first and second.poll() is None
    fourth = start()
    assert waits(fourth)
    second.send_signal(signal.SIGTERM)
    assert sees(fourth) == of_second


def test_never_two_at_a_time(start):
    """Six jobs on two GPUs: of one GPU, each begins after the last has ended."""
    jobs = [start(then="time.sleep(0.1)") for _ in range(6)]
    spans = {"0": [], "1": []}
    for job in jobs:
        out, err = job.communicate()
        (index, begin), (_, end) = (line.split() for line in out.splitlines())
        spans[index].append((float(begin), float(end)))
        assert job.returncode == 0, err
    assert sum(map(len, spans.values())) == 6
    for of_one in spans.values():
        of_one.sort()
        assert all(a[1] <= b[0] for a, b in pairwise(of_one))


def test_a_users_list_is_what_is_shared_out_by_its_own_names(start):
    listed = {"CUDA_VISIBLE_DEVICES": "3,MIG-GPU-8f/1/0", "pretend": 2}
    assert [sees(start(**listed)), sees(start(**listed))] == ["3", "MIG-GPU-8f/1/0"]
    assert waits(start(**listed))
    # Another study, with a list of its own, shares what is in both.
    assert sees(start(CUDA_VISIBLE_DEVICES="3,5")) == "5"


def test_of_a_list_only_what_is_there(start):
    """CUDA would show nothing to a job that held the second."""
    listed = {"CUDA_VISIBLE_DEVICES": "0,7", "pretend": 1}
    assert sees(start(**listed)) == "0"
    assert waits(start(**listed))


def test_a_job_of_several_takes_all_or_none(start):
    one = start()
    assert sees(one) == "0"
    both = start(gpus=2)
    assert waits(both)
    other = start(then="")
    assert sees(other) == "1"  # which the waiting job does not hold
    kill(one)
    assert sees(both) == "0,1"


def test_more_than_there_are_is_one_line(start):
    job = start(gpus=3)
    assert job.stdout.read() == "" and job.wait() == 1
    assert job.stderr.read() == (
        "error: the job was given 3 GPUs; visible here: 0, 1; give it fewer by "
        "--set-resources RULE:gpu=N, or list more in CUDA_VISIBLE_DEVICES\n"
    )


@pytest.mark.parametrize("listed", [{}, {"CUDA_VISIBLE_DEVICES": "0"}])
def test_where_there_are_none_a_job_waits_for_none(start, tmp_path, listed):
    job = start(pretend=0, then="", **listed)
    assert sees(job) == listed.get("CUDA_VISIBLE_DEVICES", "None")
    assert not [*tmp_path.iterdir()]


def test_slurm_has_shared_out_already(start):
    """In each job it numbers those of that job from 0; those of one step share what it has."""
    step = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "CUDA_VISIBLE_DEVICES": "0", "pretend": 1}
    assert sees(start(**step)) == "0"
    assert sees(start(**step | {"SLURM_JOB_ID": "8"})) == "0"
    assert sees(start(**step | {"SLURM_STEP_ID": "1"})) == "0"
    assert sees(start(pretend=1)) == "0"
    assert waits(start(**step))


def test_processes_of_torchrun_share_what_is_visible(start, tmp_path):
    """Each would wait for what the other holds."""
    told = dict.fromkeys(TORCHRUN, "1")
    jobs = [start(gpus=2, then="", **told | {"LOCAL_RANK": rank}) for rank in "01"]
    assert [sees(job) for job in jobs] == ["None", "None"]
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["LOCAL_RANK", "WORLD_SIZE", "RANK"])
def test_what_another_launcher_left_is_one_line(start, name):
    """Taken for torchrun, it would give all jobs the first GPU."""
    job = start(**{name: "0"})
    assert job.wait() == 1
    assert f"error: environment: found {name} without " in job.stderr.read()


def test_an_address_alone_is_none_of_torchrun(start):
    assert sees(start(MASTER_ADDR="localhost", MASTER_PORT="1")) == "0"


def test_what_a_job_starts_does_not_hold_its_gpu(start):
    """Left behind by a job that was killed."""
    left = "import subprocess; print(subprocess.Popen(['sleep', '60']).pid, flush=True)"
    job = start(pretend=1, then=f"{left}; time.sleep(60)")
    assert sees(job) == "0"
    left = int(job.stdout.readline())
    kill(job)
    try:
        os.kill(left, 0)  # still there
        assert sees(start(pretend=1)) == "0"
    finally:
        os.kill(left, signal.SIGKILL)


def test_locks_survive_those_who_tidy_up(start, tmp_path):
    """systemd-tmpfiles passes over a folder that it cannot lock: see tmpfiles.d(5), Age."""
    assert sees(start()) == "0"
    [folder] = tmp_path.iterdir()
    assert subprocess.run(["flock", "--nonblock", folder / "0", "true"]).returncode == 1


@pytest.mark.parametrize("planted", ["link", "writable", "file"])
def test_a_folder_that_others_may_write_is_not_used(start, tmp_path, planted):
    folder, elsewhere = tmp_path / f"bottomup-gpus-{os.getuid()}", tmp_path / "elsewhere"
    elsewhere.mkdir()
    if planted == "link":
        folder.symlink_to(elsewhere)
    elif planted == "file":
        folder.touch()
    else:
        folder.mkdir()
        folder.chmod(0o777)
    job = start()
    assert job.wait() == 1 and job.stdout.read() == ""
    message = job.stderr.read()
    assert message.startswith(f"error: locks for GPUs need {folder} to be a folder of this ")
    assert message.count("\n") == 1
    assert not [*tmp_path.rglob("0")]


def test_what_stands_in_the_place_of_a_lock_is_one_line(start, tmp_path):
    folder = tmp_path / f"bottomup-gpus-{os.getuid()}"
    folder.mkdir(mode=0o700)
    (folder / "0").touch()
    job = start()
    assert job.wait() == 1
    message = job.stderr.read()
    assert message.startswith("error: no lock for a GPU: ") and str(folder / "0") in message
    assert message.endswith("; set TMPDIR to a folder on a local disk with room\n")
