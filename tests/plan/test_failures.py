import errno
import inspect
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from unittest import mock

import pytest
from snakemake.scheduling.job_scheduler import JobScheduler
from snakemake_interface_executor_plugins.executors.base import AbstractExecutor, SubmittedJobInfo

from bottomup.core import running
from bottomup.plan.failures import (
    REASONS,
    choose_without_a_temporary_file,
    expect_a_full_disk,
    expect_a_stop,
    last_line,
    note_why_the_cluster_fails,
    say_how_it_ended,
)
from tests.plan.checkouts import ROOT


@pytest.fixture(autouse=True)
def disk(monkeypatch):
    """How much is free on the disk of results, to be changed."""
    disk = SimpleNamespace(free=2**30)
    monkeypatch.setattr(shutil, "disk_usage", {"results": disk}.__getitem__)
    return disk


def test_a_log_on_a_full_disk_is_no_traceback_for_each_line(monkeypatch, capsys):
    monkeypatch.setattr(logging.Handler, "handleError", logging.Handler.handleError)
    expect_a_full_disk()
    log = logging.Logger("of Snakemake")
    with open("/dev/full", "wb", 0) as full:
        log.addHandler(logging.StreamHandler(SimpleNamespace(write=lambda _: full.write(b"a"))))
        log.error("a line")
        assert capsys.readouterr().err == ""
        log.error("%d", "another mistake")
        assert "Traceback" in capsys.readouterr().err


def test_a_full_disk_is_said_last(tmp_path, capsys, disk):
    disk.free = 4096
    say_how_it_ended([SimpleNamespace(log=[str(tmp_path / "no room")])], 0)
    [*_, line, last] = capsys.readouterr().err.splitlines()
    assert line.endswith("no room: not written")
    assert last == "error: the disk of results is full; free some and run again"


@pytest.fixture
def stop(monkeypatch):
    """A signal to stop has come."""
    monkeypatch.setattr(running, "stopped", event := threading.Event())
    event.set()


def test_a_study_that_was_stopped_has_no_failed_jobs(stop, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["snakemake", "--cores", "2", "--config", "a={b: 1}"])
    say_how_it_ended([], 12)
    assert capsys.readouterr().err == (
        "stopped; what is done is kept (12 jobs since the start), and trainings go on from their "
        "last checkpoint: snakemake --cores 2 --config 'a={b: 1}'\n"
    )


def test_a_job_that_failed_before_the_stop_is_told(tmp_path, stop, capsys):
    say_how_it_ended([SimpleNamespace(log=[str(tmp_path / "a")])], 0)
    assert [*map(bool, capsys.readouterr().err.splitlines())] == [False, True, True, True]


def test_what_a_stop_ends_is_no_error(caplog, monkeypatch):
    monkeypatch.setattr(running, "stopped", stopped := threading.Event())
    log = logging.getLogger("snakemake.logging")
    monkeypatch.setattr(log, "filters", [])
    expect_a_stop()
    with caplog.at_level(logging.INFO, log.name):
        log.error("before")
        stopped.set()
        log.error("Error in rule")
        log.info("after")
    assert caplog.messages == ["before", "after"]


def test_the_last_line_of_each_log_that_failed(tmp_path, capsys):
    logs = {"a": "working\nerror: found x; allowed: y\n\n", "b": "", "c": None, "d": "\xff\nkilled"}
    jobs = {}
    for name, text in logs.items():
        if text is not None:
            (tmp_path / name).write_bytes(text.encode("latin-1"))
        jobs[name] = SimpleNamespace(log=[str(tmp_path / name)])
    say_how_it_ended(jobs.values(), 0)
    assert capsys.readouterr().err.replace(f"{tmp_path}/", "").splitlines() == [
        *(
            "",
            "failed:",
            "a: error: found x; allowed: y",
            "d: killed",
            "b: empty",
            "c: not written",
        ),
    ]


@pytest.mark.parametrize(
    ("logs", "told"),
    [
        (["well", "error", "none"], ["error"]),
        (["killed", "well", "none", "error"], ["error", "killed"]),
        (["well", "killed", "none"], ["killed"]),
        (["well", "none"], ["none"]),
        (["well"], ["well"]),
    ],
    ids=str,
)
def test_of_a_group_only_those_that_failed_are_told(tmp_path, capsys, logs, told):
    timed = "12:00:01 read it\n"
    texts = {
        "well": f"{timed}12:00:02 done\n",
        "killed": timed,
        "error": f"{timed}error: found x\n",
    }
    for log in logs:
        if text := texts.get(log):
            (tmp_path / log).write_text(text)
    group = SimpleNamespace(jobs=[SimpleNamespace(log=[str(tmp_path / log)]) for log in logs])
    say_how_it_ended([group], 0)
    lines = capsys.readouterr().err.replace(f"{tmp_path}/", "").splitlines()
    assert [line.partition(":")[0] for line in lines[2:]] == told


REFUSED = """SLURM sbatch failed. The error message was 'sbatch: error: no partition a
sbatch: error: refused'.
    sbatch call:
        sbatch --parsable
"""
NOT_SENT = REFUSED.partition("    ")[0].replace("\n", " ").strip()
TIMED_OUT = "SLURM-job '5' failed, SLURM status is: 'TIMEOUT'."


@pytest.mark.parametrize(
    ("tries", "log", "told"),
    [
        ([(None, REFUSED)], None, NOT_SENT),
        ([("5", TIMED_OUT)], "12:00:01 read it\n", TIMED_OUT),
        ([(None, REFUSED), ("5", TIMED_OUT)], "error: found x\n", "error: found x"),
        # What an earlier try has written is no reason why this one was refused.
        ([("5", TIMED_OUT), (None, REFUSED)], "error: found x\n", NOT_SENT),
    ],
    ids=["refused", "out of time", "an error after it was refused", "refused after an error"],
)
def test_what_the_cluster_says_of_a_group_stands_where_no_program_tells(
    tmp_path, capsys, reported, tries, log, told
):
    if log:
        (tmp_path / "a").write_text(log)
    group = SimpleNamespace(jobs=[SimpleNamespace(log=[str(tmp_path / name)]) for name in "ba"])
    for number, message in tries:
        reported(group, number, message)
    say_how_it_ended([group], 0)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["", "failed:", f"{tmp_path}/a: {told}"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "12:00:01 read it\nslurmstepd-n: error: Exceeded job memory limit\n"
            "slurmstepd-n: error: *** STEP 5.0 ON n CANCELLED ***\nsrun: error: n: Killed\n",
            [TIMED_OUT, "slurmstepd: Exceeded job memory limit"],
        ),
        (
            "slurmstepd: error: *** JOB 5 ON n CANCELLED AT 2026 DUE TO TIME LIMIT ***\n",
            [TIMED_OUT, "slurmstepd: *** JOB 5 ON n CANCELLED AT 2026 DUE TO TIME LIMIT ***"],
        ),
        ("srun: error: n: Killed\n", [TIMED_OUT]),
        (None, [TIMED_OUT]),
    ],
    ids=["memory", "time", "nothing", "no log"],
)
def test_what_slurm_says_on_the_node_stands_beside_the_words_of_the_cluster(
    tmp_path, monkeypatch, said, told
):
    executor, job = mock.MagicMock(), SimpleNamespace(log=[str(tmp_path / "a")])
    if said:
        (tmp_path / "5.log").write_text(said)
    monkeypatch.setattr(AbstractExecutor, "report_job_error", AbstractExecutor.report_job_error)
    note_why_the_cluster_fails()
    sent = SubmittedJobInfo(job, "5", aux={"slurm_logfile": tmp_path / "5.log"})
    AbstractExecutor.report_job_error(executor, sent, TIMED_OUT)
    assert REASONS.pop(str(tmp_path / "a")) == " ".join(told)


def test_a_cluster_may_refuse_a_job_without_a_log(reported, capsys):
    job = SimpleNamespace(log=[])
    assert reported(job, None, REFUSED) == [job]
    say_how_it_ended([job], 0)
    assert capsys.readouterr().err == ""


@pytest.fixture
def reported(monkeypatch):
    """A function that reports what a cluster says of a job, and gives the jobs that then failed."""
    failed = []
    scheduler = SimpleNamespace(error_callback=failed.append)
    executor = SimpleNamespace(
        print_job_error=lambda *_: None, workflow=SimpleNamespace(scheduler=scheduler)
    )
    monkeypatch.setattr(AbstractExecutor, "report_job_error", AbstractExecutor.report_job_error)
    note_why_the_cluster_fails()

    def of(job, number, message):
        AbstractExecutor.report_job_error(executor, SubmittedJobInfo(job, number), message)
        return failed

    return of


PROGRAM = """\
import os
from bottomup.plan import program
def main(arguments):
    END
program.run(main, program.parser("A program."))
"""


@pytest.mark.parametrize(
    ("end", "line"),
    [
        (
            "os.kill(os.getpid(), 9)",
            r"killed or stopped; if .* with fewer --cores; before it: \d.*",
        ),
        ("raise program.UserError('found x')", "error: found x"),
        ("raise MemoryError('none is left')", "MemoryError: none is left"),
        ("pass", r"its program ended well, .*"),
    ],
)
def test_what_a_program_was_doing_is_no_reason_why_it_ended(tmp_path, end, line):
    (tmp_path / "program.py").write_text(PROGRAM.replace("END", end))
    command = [sys.executable, tmp_path / "program.py", "--settings", '{"code": {}}', "--gpus", "0"]
    with (tmp_path / "log").open("w") as log:
        subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=log)
    assert re.fullmatch(line, last_line(tmp_path / "log"))


def test_the_reason_stands_where_the_program_did_not_fail(tmp_path, capsys, monkeypatch):
    log = str(tmp_path / "a")
    (tmp_path / "a").write_text("wrote it\n")
    monkeypatch.setitem(REASONS, log, "its output is older than its input")
    say_how_it_ended([SimpleNamespace(log=[log])], 0)
    assert capsys.readouterr().err.endswith("a: its output is older than its input\n")


def test_many_failures_leave_room_for_what_is_above(tmp_path, capsys):
    say_how_it_ended((SimpleNamespace(log=[str(tmp_path / str(n))]) for n in range(25)), 0)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 + 20 + 1 and said[-1] == "and 5 more"


def test_the_clear_line_comes_last(checkout):
    """Below Snakemake's own words about the job and the program's traceback, if any."""
    (checkout.path / "text/de.txt").write_text("one line\n")
    done = checkout.snakemake(
        *("--cores", "1", "--configfile", "study.yaml", "--until", "fetch_corpus"), check=False
    )
    assert done.returncode == 1
    [*_, header, line] = done.stderr.splitlines()
    assert header == "failed:"
    assert line.startswith(
        "results/planned/logs/fetch_corpus.files.log: error: lines in text/en.txt: 2, "
    )


def test_jobs_are_chosen_though_no_temporary_file_can_be_written(caplog):
    """Snakemake takes its simpler way for None; its solver writes a file for each choice."""
    full = OSError(errno.ENOSPC, "No space left on device")
    answers = iter([["a"], full, full])

    def choose(_):
        if isinstance(answer := next(answers), OSError):
            raise answer
        return answer

    scheduler = SimpleNamespace(_job_selector=choose)
    choose_without_a_temporary_file(scheduler)
    assert [scheduler._job_selector("jobs") for _ in range(3)] == [["a"], None, None]
    [line] = caplog.messages
    assert "(No space left on device)" in line and "set TMPDIR to" in line


def test_snakemake_chooses_jobs_where_it_is_expected_to():
    """If it does so elsewhere, a full folder for temporary files ends a study in a traceback."""
    source = inspect.getsource(JobScheduler)
    assert source.count("self._job_selector = scheduler.select_jobs") == 1
    assert (
        "if selected is None:\n                    selected = self.job_selector_greedy(" in source
    )


def test_a_stop_while_it_plans_is_one_line(unbuilt):
    """As by Ctrl-C; Snakemake by itself ends in a traceback then."""
    command = [sys.executable, "-m", "snakemake", "--configfile", "study.yaml", "--dry-run"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=unbuilt, **pipes) as process:
        next(line for line in process.stdout if line.startswith("Config file config.yaml is"))
        time.sleep(0.1)  # while Snakemake writes a line, it drops a Ctrl-C
        process.send_signal(signal.SIGINT)
        said = process.stdout.read().splitlines()
    assert process.returncode
    assert said == ["stopped before any job: snakemake --configfile study.yaml --dry-run"]
