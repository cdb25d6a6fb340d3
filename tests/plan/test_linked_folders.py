"""A link among results: a job does not write through it."""

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from bottomup.core import running
from bottomup.core.errors import UserError
from bottomup.plan.links import require_folders, require_none
from bottomup.plan.reading import typed
from bottomup.plan.start import require_report
from tests.plan.checkouts import RESULTS


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A study's folder, which is elsewhere."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere/planned/figures").mkdir(parents=True)
    (tmp_path / "results").symlink_to("elsewhere")
    return Path("results/planned")


LINKS = (
    *("runs/lm-1", "runs/lm-2/model/target", "runs/lm-2/model/target/tokenizer.json"),
    *("runs/lm-2/checkpoint/state.tmp", "pruned/mt-1/all/gates_0.1/checkpoint", "figures/a.png"),
    *("figures/mine.png", running.MAY_RUN),
)


@pytest.mark.parametrize("to", ["nowhere", ".."])
@pytest.mark.parametrize("link", LINKS)
def test_what_leads_elsewhere_is_not_written(study, link, to):
    """Declared as the output of a job or not; to a folder or to nothing."""
    (study / link).parent.mkdir(parents=True, exist_ok=True)
    (study / link).symlink_to(to)
    with pytest.raises(UserError) as error:
        require_none(study)
    assert str(error.value).startswith(f"{study / link} is a link to {to}, and a study writes")


def test_a_study_with_a_link_does_not_start(checkout):
    mine = checkout.path / "mine.json"
    mine.write_text("mine")
    target = checkout.path / RESULTS / "runs/mt-1/model/target"
    target.mkdir()
    (target / "tokenizer.json").symlink_to(mine)
    lock = checkout.path / RESULTS / running.MAY_RUN
    lock.unlink()
    lock.symlink_to(mine)
    nothing_to_do = ("--cores", "1", "--configfile", "study.yaml")
    again = ("--forcerun", "train_mt", *nothing_to_do)
    for link, asked in ((lock, again), (target / "tokenizer.json", nothing_to_do)):
        done = checkout.snakemake(*asked, check=False)
        assert done.returncode == 1
        assert f"error: {link.relative_to(checkout.path)} is a link to {mine}, and" in done.stderr
        assert mine.read_text() == "mine"
        link.unlink()


def test_nothing_is_deleted_through_a_link_nor_of_a_study_that_runs(checkout):
    thesis = checkout.path / "thesis.png"
    thesis.write_text("mine")
    figure = checkout.path / RESULTS / "figures/learning_curves.png"
    before = figure.read_bytes()
    delete = ("--delete-all-output", "--cores", "1", "--configfile", "study.yaml")
    (figure.parent / "mine.png").symlink_to(thesis)
    done = checkout.snakemake(*delete, check=False)
    assert done.returncode == 1 and "mine.png is a link to " in done.stderr
    (figure.parent / "mine.png").unlink()
    with (checkout.path / RESULTS / running.MAY_RUN).open("w") as lock:
        print("process 12 on a", end="", file=lock, flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = checkout.snakemake(*delete, check=False)
    assert done.returncode == 1 and "another Snakemake (process 12 on a) runs" in done.stderr
    assert figure.read_bytes() == before and thesis.read_text() == "mine"
    checkout.snakemake(*delete)
    assert not figure.exists()


def test_a_report_is_not_written_through_a_link(study, tmp_path):
    asked = typed(["--report", str(tmp_path / "report.html")])
    (study / "index.html").touch()
    require_report(study, asked)
    (tmp_path / "report.html").symlink_to("elsewhere.html")
    with pytest.raises(UserError, match=r"is a link to elsewhere\.html.*delete the link"):
        require_report(study, asked)


def test_all_results_may_be_elsewhere(study):
    require_none(study)
    (study.parent / "second").symlink_to("planned")
    require_none(study.parent / "second")
    require_none(study.parent / "not there")


def put(path, what):
    path.parent.mkdir(parents=True, exist_ok=True)
    if what == "file":
        path.write_text("")
    else:
        path.symlink_to(path.name if what == "loop" else "nowhere")


@pytest.mark.parametrize("what", ["file", "loop", "dangling"])
@pytest.mark.parametrize(
    "place", ["results", "results/a", "results/a/runs", ".snakemake", "trained"]
)
def test_what_stands_where_a_folder_is_to_be_is_one_line(tmp_path, monkeypatch, place, what):
    monkeypatch.chdir(tmp_path)
    written = [
        "results/a/runs/{run}/model.safetensors",
        "results/a/{b}.csv",
        "results/a/index.html",
    ]
    require_folders(written)
    put(Path(place), what)
    with pytest.raises(
        UserError, match=f"^{place}: found a file, or a link that leads to no folder; "
    ):
        require_folders(written)
    Path(place).unlink()
    Path("elsewhere").mkdir()
    Path(place).symlink_to(tmp_path / "elsewhere")
    require_folders(written)


@pytest.mark.long
@pytest.mark.parametrize(
    ("place", "what", "said"),
    [
        ("logs", "file", f"{RESULTS}logs: found a file, or a link that "),
        ("corpus/pairs", "dangling", f"error: {RESULTS}corpus/pairs is a link to nowhere, "),
        ("runs", "loop", f"error: {RESULTS}runs is a link to runs, "),
    ],
)
def test_a_study_that_finds_no_folder_does_not_start(unbuilt, place, what, said):
    put(path := unbuilt / RESULTS / place, what)
    try:
        command = [sys.executable, "-m", "snakemake", "-n", "--configfile", "study.yaml"]
        done = subprocess.run(command, cwd=unbuilt, capture_output=True, text=True)
    finally:
        path.unlink()
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith(said)
