import shutil
from types import SimpleNamespace

import pytest

from bottomup.workflow.failures import say_what_failed


@pytest.fixture(autouse=True)
def disk(monkeypatch):
    """How much is free on the disk of results, to be changed."""
    disk = SimpleNamespace(free=2**30)
    monkeypatch.setattr(shutil, "disk_usage", {"results": disk}.__getitem__)
    return disk


def test_a_full_disk_is_said_last(tmp_path, capsys, disk):
    disk.free = 4096
    say_what_failed([SimpleNamespace(log=[str(tmp_path / "no room")])])
    [*_, line, last] = capsys.readouterr().err.splitlines()
    assert line.endswith("no room: not written")
    assert last == "error: the disk of results is full; free some and run again"


def test_a_study_that_was_stopped_has_no_failed_jobs(capsys):
    say_what_failed([])
    assert capsys.readouterr().err == "\nno job failed; the same command goes on from here\n"


def test_the_last_line_of_each_log_that_failed(tmp_path, capsys):
    logs = {"a": "working\nerror: found x; allowed: y\n\n", "b": "", "c": None, "d": "\xff\nkilled"}
    jobs = {}
    for name, text in logs.items():
        if text is not None:
            (tmp_path / name).write_bytes(text.encode("latin-1"))
        jobs[name] = SimpleNamespace(log=[str(tmp_path / name)])
    group = SimpleNamespace(jobs=[jobs["d"], jobs["b"]])
    say_what_failed([group, jobs["c"], jobs["a"]])
    assert capsys.readouterr().err.replace(f"{tmp_path}/", "").splitlines() == [
        *(
            "",
            "failed:",
            "a: error: found x; allowed: y",
            "b: empty",
            "c: not written",
            "d: killed",
        ),
    ]


def test_the_reason_stands_where_the_program_did_not_fail(tmp_path, capsys):
    log = str(tmp_path / "a")
    (tmp_path / "a").write_text("wrote it\n")
    say_what_failed([SimpleNamespace(log=[log])], {log: "its output is older than its input"})
    assert capsys.readouterr().err.endswith("a: its output is older than its input\n")


def test_many_failures_leave_room_for_what_is_above(tmp_path, capsys):
    say_what_failed(SimpleNamespace(log=[str(tmp_path / str(n))]) for n in range(25))
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
        "results/planned/logs/fetch_corpus.files.log: error: text/en.txt has 2 lines "
    )
