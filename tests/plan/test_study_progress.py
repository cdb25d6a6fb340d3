"""What is said of how far a study is: estimates from tables, and a workflow that Snakemake runs."""

import logging
import os
import pty
import re
import subprocess
import sys
import termios
from datetime import datetime
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from bottomup.plan.progress import (
    OPERATIONS_A_SECOND,
    START_UP,
    VIEWS_MB,
    Job,
    Progress,
    Watch,
    expected,
    guess,
    line,
    measured,
    share_and_seconds_left,
)
from bottomup.plan.study import tables
from tests.plan.checkouts import ROOT

pytestmark = pytest.mark.long

NOON = datetime(2026, 11, 23, 12, 0)


def jobs(*names, seconds=10.0, threads=1, after=()):
    return {name: Job(seconds, threads, after) for name in names}


def test_benchmarks_are_read_and_one_that_is_not_whole_is_left_out(tmp_path):
    (tmp_path / "train_mt.1.tsv").write_text("s\th:m:s\tmax_rss\n787.84\t0:13:07\t2288.72\n")
    (tmp_path / "prune.mt-1.gates_0.3.tsv").write_text("s\th:m:s\n107.66\t0:01:47\n")
    (tmp_path / "begun.tsv").write_text("s\th:m:s\n")
    (tmp_path / "empty.tsv").write_text("")
    assert measured(tmp_path) == {"train_mt.1": 787.84, "prune.mt-1.gates_0.3": 107.66}
    assert measured(tmp_path / "not there") == {}


def test_a_guess_goes_by_the_operations_or_by_the_size_of_views():
    assert guess("train_mt", 60 * OPERATIONS_A_SECOND, 1) == START_UP + 60
    whole, half = (guess("measure_influence", 0, mb) for mb in (VIEWS_MB, VIEWS_MB / 2))
    seconds = tables()["influence"].TABLE.seconds
    assert whole == START_UP + seconds and half == START_UP + seconds / 2
    assert guess("plot_mask", 0, VIEWS_MB) < 10


def test_a_job_takes_what_jobs_of_its_rule_took_whose_wildcards_are_most_like_its_own():
    took = {"quality.mt-1": 40.0, "quality.mt-3": 44.0, "quality.lm-1": 8.0, "other.mt-2": 1.0}
    seconds = expected(jobs("quality.mt-2", "quality.lm-12", "quality.mt-1"), took)
    # "lm-1" is no more like lm-12 than any other of LM.
    assert seconds == {"quality.mt-2": 42.0, "quality.lm-12": 8.0, "quality.mt-1": 40.0}


def test_what_was_not_measured_goes_by_the_pace_of_what_was():
    seconds = expected(jobs("a.1", "b.1", "c.1"), {"a.1": 30.0, "b.1": 10.0, "elsewhere.1": 999.0})
    assert seconds["c.1"] == pytest.approx(10 * (40 + 3) / (20 + 3)), "3 s: a tenth of all"
    assert expected(jobs("c.1"), {}) == {"c.1": 10.0}


def test_few_small_jobs_say_little_of_large_ones():
    study = jobs("small.1", "small.2", seconds=1.0) | jobs("large.1", seconds=1000.0)
    seconds = expected(study, {"small.1": 5.0, "small.2": 5.0})
    assert seconds["small.1"] == 5.0 and 1000 < seconds["large.1"] < 1100


def test_what_is_left_takes_its_core_seconds_by_the_cores_or_its_longest_chain():
    names = [f"a.{n}" for n in range(6)]
    seconds = dict.fromkeys(names, 10.0)
    together = jobs(*names)
    assert share_and_seconds_left(together, seconds, {"a.0", "a.1", "a.2"}, {}, 2) == (0.5, 15)
    assert share_and_seconds_left(together, seconds, (), {}, 100) == (0, 10)
    with_threads = jobs(*names, threads=2)
    assert share_and_seconds_left(with_threads, seconds, (), {}, 2) == (0, 60)
    one_by_one = {name: Job(0, 1, [names[n - 1]] if n else []) for n, name in enumerate(names)}
    assert share_and_seconds_left(one_by_one, seconds, {"a.0"}, {}, 100)[1] == 50


def test_a_running_job_is_done_in_part_and_an_overdue_one_ends_soon():
    seconds = {"a.1": 100.0, "b.1": 100.0}
    share, left = share_and_seconds_left(jobs(*seconds), seconds, (), {"a.1": 50.0}, 1)
    assert (share, left) == (0.25, 150)
    share, left = share_and_seconds_left(jobs(*seconds), seconds, {"b.1"}, {"a.1": 300.0}, 1)
    assert left == 30 and 0.9 < share < 1


def test_nothing_to_do_is_no_division_by_zero():
    assert share_and_seconds_left({}, {}, (), {}, 2) == (0, 0)


def test_a_line():
    running = ["measure_change.lm-1", "train_mlm.1"]
    assert line(36, 397, 0.099, 5555, running, NOON) == (
        "36 of 397 jobs, about 9 % of the work; about 93 min left, until 13:32; running: "
        "measure_change.lm-1, train_mlm.1"
    )
    assert line(0, 1, 0, 86400, [], NOON).endswith("about 1440 min left, until Tue 24 Nov, 12:00")
    assert line(0, 9, 0, 0, list("abcde"), NOON).endswith("running: a, b, c, 2 more")


SNAKEFILE = """
import atexit
from pathlib import Path
from bottomup.plan.progress import Progress

PROGRESS = Progress(workflow, lambda job: (60 * job.threads, job.threads), Path("benchmarks"), 1)

rule all:
    input: expand("{name}.txt", name=["a", "b"])

rule write:
    output: "{name}.txt"
    benchmark: "benchmarks/write.{name}.tsv"
    shell: "sleep 0.2; SAY > {output}"

atexit.register(PROGRESS.foretell)
onstart: PROGRESS.start()
onsuccess: PROGRESS.end()
onerror: PROGRESS.end()
"""
SECOND = """rule write:
    input: lambda wildcards: ["a.txt"] if wildcards.name == "b" else []"""
SAID = re.compile(r"[012] of 3 jobs, about \d+ % of the work; about \d min left, until ")


@pytest.fixture
def workflow(tmp_path):
    """The command that runs a workflow of two jobs, which can be made to fail."""
    (tmp_path / "Snakefile").write_text(SNAKEFILE.replace("SAY", "echo a"))
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--nocolor"]
    return command, {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(ROOT)}}


def test_a_log_has_a_line(workflow):
    command, options = workflow
    done = subprocess.run(command, **options, capture_output=True, text=True, check=True)
    assert len(SAID.findall(done.stderr)) == 1  # a minute has not passed
    assert "\r" not in done.stderr and "Traceback" not in done.stderr


def test_it_is_quiet_where_snakemake_is(workflow):
    command, options = workflow
    command = [*command, "--quiet", "progress"]
    done = subprocess.run(command, **options, capture_output=True, text=True, check=True)
    assert not SAID.findall(done.stderr) and "rule write" in done.stderr


def test_jobs_of_one_rule_without_a_benchmark_are_told_apart(workflow):
    """Here one waits for another of them."""
    command, options = workflow
    file = options["cwd"] / "Snakefile"
    text = file.read_text().replace('["a", "b"]', '["b"]').replace("rule write:", SECOND)
    file.write_text(text.replace('    benchmark: "benchmarks/write.{name}.tsv"\n', ""))
    done = subprocess.run(command, **options, capture_output=True, text=True, check=True)
    assert len(SAID.findall(done.stderr)) == 1 and "Traceback" not in done.stderr


@pytest.mark.parametrize("quiet", [[], ["--quiet", "progress"]])
def test_a_dry_run_says_how_long_its_jobs_would_take(workflow, quiet):
    command, options = workflow
    command = [*command, *quiet, "--dry-run"]
    done = subprocess.run(command, **options, capture_output=True, text=True, check=True)
    said = "3 jobs would take about 3 min on 1 core\n"
    assert (said in done.stderr) == (not quiet) and "Traceback" not in done.stderr
    done = subprocess.run([*command, "nothing"], **options, capture_output=True, text=True)
    assert done.returncode == 1 and "would take" not in done.stderr


def test_on_a_terminal_the_line_stays_below_and_goes_at_the_end(workflow):
    command, options = workflow
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    with subprocess.Popen(command, **options, stderr=terminal, stdout=terminal) as process:
        os.close(terminal)
        said = _all_of(controller)
    assert process.returncode == 0
    assert SAID.search(said) and "Traceback" not in said
    # What stays on each line is what was written after the last return to its beginning.
    kept = [text.rstrip("\r").rpartition("\r")[2] for text in said.split("\n")]
    assert not [text for text in kept if SAID.search(text)]
    assert "3 of 3 steps (100%) done" in kept


def test_what_goes_wrong_in_it_stops_no_job(workflow):
    command, options = workflow
    file = options["cwd"] / "Snakefile"
    file.write_text(file.read_text().replace("60 * job.threads", "1 / 0"))
    done = subprocess.run(command, **options, capture_output=True, text=True, check=True)
    assert "ZeroDivisionError" in done.stderr and "3 of 3 steps (100%) done" in done.stderr


def _all_of(controller):
    said = b""
    while True:
        try:
            part = os.read(controller, 4096)
        except OSError:  # the other side is closed
            part = b""
        if not part:
            os.close(controller)
            return said.decode()
        said += part


def test_on_a_cluster_the_jobs_of_a_group_run_at_a_time(tmp_path):
    one, two, three = (
        MadeUp(jobid=n, benchmark=f"{name}.tsv", log=[])
        for n, name in enumerate(("a.1", "b.1", "c.1"))
    )
    dag = SimpleNamespace(
        needrun_jobs=lambda exclude_finished: [one, two],
        dependencies={one: {}, two: {one: {"a file"}, three: {"one that is there"}}},
    )
    said = []
    progress = Progress(SimpleNamespace(dag=dag), lambda job: (600, 4), tmp_path, 100)
    for job in (one, two):
        progress.watch.emit(record(LogEvent.JOB_INFO, jobid=job.jobid))
    progress.ended.set()
    progress._say_each(1, said.append)
    (text,) = said
    assert text.startswith("0 of 2 jobs, about 0 % of the work; about 20 min left")
    assert text.endswith("; running: a.1, b.1")


class MadeUp:
    """A job or a group of them, in sets."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


def record(event, **attributes):
    """One of Snakemake's log records, with its event."""
    return logging.makeLogRecord({"event": event, **attributes})


def test_a_job_runs_until_it_is_finished_or_fails():
    watch = Watch()
    for number in range(3):
        watch.emit(record(LogEvent.JOB_INFO, jobid=number))
    watch.emit(record(LogEvent.JOB_FINISHED, job_id=1))
    watch.emit(record(LogEvent.JOB_ERROR, jobid=2))
    watch.emit(logging.makeLogRecord({"msg": "Select jobs to execute..."}))
    assert [*watch.began] == [0] and watch.done == {1}


def test_each_rule_of_the_study_has_a_guess(checkout):
    """Made on the way by a study that is touched only: what it lacks would be a traceback."""
    done = checkout.snakemake(
        *("--touch", "--forceall", "--cores", "1", "--configfile", "study.yaml")
    )
    assert re.search(r"of \d{3} jobs, about \d+ % of the work", done.stderr)
    assert "Traceback" not in done.stderr
