"""Processes that stand for Snakemakes and jobs, which hold, wait and end each other."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bottomup.core import running
from bottomup.core.errors import UserError
from tests.tiny import ROOT

SNAKEMAKE = """
import pathlib, sys, time
from bottomup.core import running
study = pathlib.Path(sys.argv[1])
before = running.last(study)
if "plans" in sys.argv:
    print("planning", flush=True)
    sys.stdin.readline()
running.start(study, before)
try:
    print("started", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted" if running.stopped.wait(5) else "not noted", flush=True)
    if "cleans" in sys.argv:
        sys.stdin.readline()
"""
JOB = """
import os, signal, sys, time
from bottomup.core import running
running.follow()
if "saves" in sys.argv:
    def save(*_):
        sys.stdin.readline()
        print("saved", flush=True)
        sys.exit(75)
    signal.signal(signal.SIGTERM, save)
os.write(1, b"started\\n")  # a signal that comes within a print could not print
time.sleep(60)
"""


@pytest.fixture
def process():
    """Start a process of one of the programs above and wait until it says that it has started."""
    all_of_them = []

    def process(program, *arguments, waits=True, **environment):
        started = subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments)],
            env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        all_of_them.append(started)
        if waits:
            assert started.stdout.readline() == "started\n", started.stderr.read()
        return started

    yield process
    for each in all_of_them:
        each.kill()
        each.communicate()


def let_end(process):
    """Let one end that saves or cleans up until it is told."""
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.fixture
def snakemake(process, tmp_path):
    return lambda *does, **options: process(SNAKEMAKE, tmp_path / "study", *does, **options)


@pytest.fixture
def job(process, tmp_path):
    """A job that a Snakemake has started."""

    def job(started_by, *does, program=JOB, **options):
        this = f"process {started_by.pid} on {os.uname().nodename}"
        folder = str(tmp_path / "study")
        names = {running.FOLDER: folder, running.STARTED_BY: this}
        return process(program, *does, **names, **options)

    return job


def test_a_second_one_ends_in_a_line_and_the_first_goes_on(snakemake, tmp_path):
    first = snakemake()
    with pytest.raises(UserError) as error:
        running.start(tmp_path / "study", None)
    assert str(error.value) == (
        f"another Snakemake (process {first.pid} on {os.uname().nodename}) runs the study in "
        f"{tmp_path}/study; wait until it ends, or stop it"
    )
    assert first.poll() is None


def test_studies_of_one_folder_run_side_by_side(process, tmp_path):
    both = [process(SNAKEMAKE, tmp_path / name) for name in ("one", "other")]
    assert [each.poll() for each in both] == [None, None]


@pytest.mark.parametrize("is_planned_beside_it", [True, False])
def test_a_plan_of_before_another_one_ran_is_not_carried_out(snakemake, is_planned_beside_it):
    """What the other one made would count as it was before."""
    first = snakemake() if is_planned_beside_it else None
    planning = snakemake("plans", waits=False)
    assert planning.stdout.readline() == "planning\n"
    first = first or snakemake()
    first.kill()
    first.wait()
    let_end(planning)
    assert planning.wait(60) == 1
    this = f"process {first.pid} on {os.uname().nodename}"
    said = planning.stderr.read()
    assert f"another Snakemake ({this}) ran the study in " in said
    assert said.endswith("while this one planned; run the same command again, which plans anew\n")
    snakemake()


def test_jobs_end_with_a_snakemake_that_is_killed_and_the_next_one_starts(snakemake, job):
    first = snakemake()
    jobs = [job(first), job(first)]
    first.kill()
    first.wait()
    assert [each.wait(60) for each in jobs] == [-signal.SIGTERM] * 2
    snakemake()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_to_snakemake_ends_its_jobs_and_interrupts_it(snakemake, job, number):
    first = snakemake()
    started = job(first, "saves")
    first.send_signal(number)
    let_end(started)
    assert started.wait(60) == 75
    assert started.stdout.read() == "saved\n"
    assert (first.wait(60), first.stdout.read()) == (0, "interrupted\n")


def test_python_warns_of_nothing_at_the_end_of_a_job(snakemake, job):
    program = "from bottomup.plan import program as p; p.run(lambda _: None, p.parser(''))"
    started = job(snakemake(), program=program, waits=False, PYTHONWARNINGS="always")
    assert started.wait(60) == 0
    assert "Warning" not in started.stderr.read()


def test_jobs_end_at_a_signal_that_the_main_thread_does_not_hear(process, tmp_path, job):
    # Blocked there, it goes to another thread, and the main one sleeps on.
    deaf = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})\n"
    deaf = SNAKEMAKE.replace("try:", f"{deaf}try:")
    first = process(deaf, tmp_path / "study")
    started = job(first)
    first.send_signal(signal.SIGHUP)
    assert started.wait(60) == -signal.SIGTERM
    assert first.poll() is None


WAITING = "waiting until the jobs of an earlier Snakemake have ended\n"


def test_the_next_one_waits_for_jobs_that_are_about_to_end(snakemake, job):
    first = snakemake()
    started = job(first, "saves")
    first.kill()
    first.wait()
    second = snakemake(waits=False)
    assert (second.stderr.readline(), started.poll()) == (WAITING, None)
    let_end(started)
    assert (second.stdout.readline(), started.wait(60)) == ("started\n", 75)


def test_the_next_one_waits_for_one_that_cleans_up_after_its_jobs(snakemake, job):
    first = snakemake("cleans")
    first.send_signal(signal.SIGTERM)
    assert first.stdout.readline() == "interrupted\n"
    second = snakemake(waits=False)
    assert (second.stderr.readline(), first.poll()) == (WAITING, None)
    let_end(first)
    assert (second.stdout.readline(), first.wait(60)) == ("started\n", 0)


def test_a_job_that_comes_late_does_not_take_the_next_one_for_its_own(snakemake, job):
    first = snakemake()
    first.kill()
    first.wait()
    snakemake()
    late = job(first, waits=False)
    _, said = late.communicate()
    assert "the Snakemake that started this job has ended" in said


def test_who_ignores_hanging_up_goes_on_doing_so(process, tmp_path):
    ignoring = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{SNAKEMAKE}"
    started = process(ignoring, tmp_path / "study")
    started.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        started.wait(0.5)


def test_a_program_that_was_started_by_hand_follows_nobody(monkeypatch):
    monkeypatch.delenv(running.FOLDER, raising=False)
    running.follow()


def test_a_study_that_is_deleted_while_it_runs(monkeypatch, tmp_path):
    monkeypatch.setenv(running.FOLDER, str(tmp_path / "study"))
    with pytest.raises(UserError, match="was deleted during the run; start again"):
        running.follow()


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "results").write_text("a file")
    with pytest.raises(UserError, match="results/study cannot be written: Not a directory"):
        running.start(tmp_path / "results/study", "")


def test_a_folder_that_others_may_write_alone(monkeypatch, tmp_path):
    """Its locks are there from before, and may be written."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UserError, match="results/study cannot be written: Permission denied"):
        running.start(tmp_path / "results/study", "")


def test_a_file_system_without_locks_has_jobs_that_follow_nobody(monkeypatch, tmp_path, caplog):
    def no_locks(file, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    monkeypatch.delenv(running.FOLDER, raising=False)
    running.start(tmp_path, running.last(tmp_path))
    assert "has no locks: start one Snakemake at a time" in caplog.text
    assert running.FOLDER not in os.environ


def test_a_lock_is_not_made_through_a_link(tmp_path):
    lock = tmp_path / "a.lock"
    lock.symlink_to("elsewhere")
    said = r"a\.lock cannot be written: Too many levels of symbolic links"
    with pytest.raises(UserError, match=said), running.alone(lock):
        pass
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("last", [1, 2])
def test_a_lock_that_its_holder_deletes_while_another_looks(monkeypatch, tmp_path, last):
    """At the first look after opening it, or between two."""
    lock, looks, stat = tmp_path / "lock", [], Path.stat

    def deleted(path, **options):
        if path == lock:
            looks.append(path)
            if len(looks) == last:
                lock.unlink()
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", deleted)
    with running.alone(lock):
        assert os.path.exists(lock)
    assert looks and not os.path.exists(lock)
