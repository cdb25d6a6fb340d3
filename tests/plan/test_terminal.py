"""What ./study prints, from the records that Snakemake logs."""

import io
import logging
import os
import shutil
import subprocess
import threading
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake.settings.types import DAGSettings
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

from bottomup.plan import start, terminal
from bottomup.core import running

EVERY = "*"
OF_A = {"rule_name": "a", "log": ["a.log"], "indent": False}  # what is said of a job that failed
MODEL = "results/a/{}/model/model.safetensors"


@pytest.fixture
def said(tmp_path, monkeypatch):
    """A handler in the folder of a study `a`, and what it prints of records."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "stopped", threading.Event())
    monkeypatch.setattr(start, "_typed", ["./study", "a"])
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2**30))
    (tmp_path / "results/a").mkdir(parents=True)
    start.run_in(Path("results/a"), workflow())
    handler = terminal.LogHandler(SimpleNamespace(), None)
    handler.setStream(io.StringIO())

    def of(event=None, level=logging.INFO, msg="", **attributes):
        where = handler.stream.tell()
        handler.emit(
            logging.makeLogRecord({"event": event, "levelno": level, "msg": msg, **attributes})
        )
        return handler.stream.getvalue()[where:].splitlines()

    def end():
        where = handler.stream.tell()
        handler.close()
        handler.close()  # as logging does at exit
        return handler.stream.getvalue()[where:].splitlines()

    of.end = end
    return of


def workflow(makes=EVERY, **asked):
    """One with a rule for the files that match a pattern, which is asked for all, if not for
    less."""
    rule = SimpleNamespace(is_producer=lambda path: fnmatch(path, makes))
    return SimpleNamespace(rules=[rule], dag_settings=DAGSettings(**asked))


def begin(said, job, *outputs, benchmark="none.tsv", created=0.0):
    more = {"benchmark": benchmark, "created": created}
    assert not said(LogEvent.JOB_INFO, jobid=job, output=outputs, **more)


def test_snakemake_takes_it_as_a_plugin():
    registry = LoggerPluginRegistry()
    registry.register_plugin(start.MODULE, terminal)
    assert registry.get_plugin(start.TERMINAL).log_handler is terminal.LogHandler


def test_a_model_and_a_figure_have_a_line_and_other_jobs_have_none(said, tmp_path):
    (tmp_path / "lm.tsv").write_text("s\th:m:s\n133.6\t0:02:13\n")
    begin(said, 1, "x", MODEL.format("runs/lm-1"), "results/a/runs/lm-1/m", benchmark="lm.tsv")
    begin(said, 2, MODEL.format("pruned/mt-1/all/gates_0.5"), created=100.0)
    begin(said, 3, "results/a/figures/mask.png", "results/a/figures/mask.pdf", created=100.0)
    begin(said, 4, "results/a/measures/mask.csv")
    done = {n: said(LogEvent.JOB_FINISHED, job_id=n, created=104.4) for n in (1, 2, 3, 4)}
    assert done == {
        1: ["model lm-1: 2 min 14 s"],
        2: ["model mt-1 all gates_0.5: 4 s"],
        3: ["figure mask: 4 s"],
        4: [],
    }


def test_what_snakemake_says_besides_is_left_to_its_log(said):
    assert not said(msg="Select jobs to execute...")
    assert not said(LogEvent.PROGRESS, done=3, total=4)
    assert not said(LogEvent.JOB_STARTED, msg="Execute 2 jobs...", jobs=[1, 2])
    assert not said(level=logging.ERROR, msg="Exiting because a job execution failed.")
    assert said(level=logging.WARNING, msg="a warning") == ["a warning"]
    assert said(msg="3 of 4 jobs", shown=True) == ["3 of 4 jobs"]


def test_a_job_that_fails_has_the_last_line_of_its_log(said, tmp_path):
    begin(said, 1)
    (tmp_path / "a.log").write_text("it begins\nerror: found x; allowed: y\n")
    failed = "RuleException:\nCalledProcessError in file a.smk, line 3"
    assert not said(LogEvent.ERROR, logging.ERROR, failed)
    assert said(LogEvent.JOB_ERROR, logging.ERROR, jobid=1, **OF_A) == [
        "failed: a.log: error: found x; allowed: y"
    ]
    last = "WorkflowError:\nAt least one job did not complete successfully."
    assert not said(LogEvent.ERROR, logging.ERROR, last)
    assert said.end() == ["failed; what is done is kept. When this is mended, go on: ./study a"]


def test_a_rule_of_the_user_may_have_neither_log_nor_benchmark(said, tmp_path):
    begin(said, 1, "results/a/figures/own.png", benchmark=None, created=100.0)
    assert said(LogEvent.JOB_FINISHED, job_id=1, created=104.4) == ["figure own: 4 s"]
    begin(said, 2, benchmark=None)
    [line] = said(LogEvent.JOB_ERROR, logging.ERROR, jobid=2, **OF_A | {"log": []})
    assert line.startswith("failed: a, which has no log; its command is in ")


def test_a_job_that_is_tried_again_has_not_failed(said, tmp_path):
    begin(said, 1)
    (tmp_path / "a.log").write_text("Killed\n")
    assert said(LogEvent.JOB_ERROR, logging.ERROR, jobid=1, **OF_A) == ["failed: a.log: Killed"]
    assert said(LogEvent.ERROR, logging.ERROR, "Missing files") == ["Missing files"]
    assert said(msg="Trying to restart job 1.") == ["what failed is tried again"]
    said(LogEvent.JOB_FINISHED, job_id=1, created=0)
    assert said.end() == ["Done in 0 s"]


def test_a_group_of_jobs_has_the_error_of_the_one_that_failed(said, tmp_path):
    """Snakemake logs an error for all of them, first together and then for each."""
    begin(said, 1)
    logs = {"a.log": "12:00:01 read it\n12:00:02 done\n", "b.log": "error: found x\n"}
    for name, text in logs.items():
        (tmp_path / name).write_text(text)
    jobs = [{"jobid": n, "log": [log]} for n, log in enumerate([*logs, "c.log"])]
    said_of_group = said(LogEvent.GROUP_ERROR, logging.ERROR, groupid="a", job_error_info=jobs)
    assert said_of_group == ["failed: b.log: error: found x"]
    assert not any(said(LogEvent.JOB_ERROR, logging.ERROR, indent=True, **job) for job in jobs)


def test_a_study_that_ends_as_it_starts_is_not_done(said):
    said(LogEvent.RUN_INFO, stats={"total": 4})
    assert said.end() == []


def test_another_error_is_told_and_nothing_is_done(said):
    assert said(LogEvent.ERROR, logging.ERROR, "No rule to produce x") == ["No rule to produce x"]
    assert said.end() == []


def test_a_stop_is_no_failure(said):
    said(LogEvent.RUN_INFO, stats={"total": 4})
    said(LogEvent.JOB_FINISHED, job_id=3, created=0)
    running.stopped.set()
    assert said.end() == [
        "stopped; what is done is kept (1 job since the start), and trainings go on from their "
        "last checkpoint: ./study a"
    ]


def results(folder):
    figures = ("figures/a.png", "figures/b.png", "figures/b.pdf")
    for name in (*figures, "latex/quality.tex", "measures/claims.csv"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("")
    claims = 'claim,verdict,same_number_as\na,undecided,\nb,reproduced,\n"c, d",undecided,\n'
    claims += "e,reproduced,b\n"  # which rests on the number of another
    (folder / "measures/claims.csv").write_text(claims)
    for page in ("claims.html", "index.html"):
        (folder / page).write_text("")


def test_the_end_says_where_everything_is(said, tmp_path):
    results(tmp_path / "results/a")
    begin(said, 1)
    assert said.end() == [
        "Done in 0 s. All of it: results/a/index.html. Figures: results/a/figures (2). "
        "LaTeX: results/a/latex (1). "
        "Verdicts: results/a/claims.html (2 undecided, 1 reproduced)"
    ]


def test_what_an_earlier_config_has_left_is_no_result(said, tmp_path):
    """As after an objective is removed, and all tables that claims read."""
    results(tmp_path / "results/a")
    start.run_in(Path("results/a"), workflow("results/a/figures/a.*"))
    begin(said, 1)
    assert said.end() == [
        "Done in 0 s. All of it: results/a/index.html. "
        "Figures: results/a/figures (1, and 1 of an earlier config)"
    ]


@pytest.mark.parametrize(
    ("asked", "up", "page"),
    [
        ({}, "all", "All of it"),
        ({"targets": {"all"}}, "all", "All of it"),
        ({"targets": {"plot_a"}}, "what was asked for", "All of it, as last made"),
        ({"until": {"plot_a"}}, "what was asked for", "All of it, as last made"),
        ({"omit_from": {"plot_a"}}, "what was asked for", "All of it, as last made"),
        ({"allowed_rules": {"plot_a"}}, "what was asked for", "All of it, as last made"),
    ],
)
def test_of_a_part_the_rest_may_be_stale(asked, up, page, said, tmp_path):
    start.run_in(Path("results/a"), workflow(**asked))
    (tmp_path / "results/a/index.html").write_text("")
    said(msg=NOTHING_TO_BE_DONE_MSG)
    assert said.end() == [f"Nothing to do, {up} is up to date. {page}: results/a/index.html"]


def test_verdicts_of_an_earlier_version_are_counted_as_they_are(said, tmp_path):
    results(tmp_path)
    (tmp_path / "measures/claims.csv").write_text("claim,verdict\na,reproduced\nb\n")
    *_, last = terminal.where(tmp_path)
    assert last.endswith("(1 reproduced, 1 unknown)")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *((0.4, "0 s"), (34.4, "34 s"), (59.6, "1 min 0 s"), (270, "4 min 30 s")),
        *((3599, "59 min 59 s"), (6700, "1 h 52 min"), (7199, "2 h 0 min")),
    ],
)
def test_durations(seconds, words):
    assert terminal.duration(seconds) == words


def test_of_a_study_that_is_run(unbuilt, tmp_path, python):
    """All of it: Snakemake with this plugin, a job that fails, and the log file."""
    folder = shutil.copytree(unbuilt, tmp_path / "run")
    (folder / "text/de.txt").write_text("one line\n")
    command = ["-m", "bottomup.plan", "study.yaml", "--cores", "1", "--until", "fetch_corpus"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [python, *command], cwd=folder, env=environment, capture_output=True, text=True
    )
    first, *others, failed, last = done.stderr.splitlines()
    assert done.returncode == 1 and first.startswith(
        "2 jobs; all that Snakemake says of them is in "
    )
    assert all(" of 2 jobs, about " in line for line in others)
    assert failed.startswith(
        "failed: results/planned/logs/fetch_corpus.files.log: error: lines in t"
    )
    assert last.endswith("go on: ./study study.yaml --cores 1 --until fetch_corpus")
    log = (folder / first.rpartition(" ")[2]).read_text()
    assert "Error in rule fetch_corpus" in log and "reason: " in log
