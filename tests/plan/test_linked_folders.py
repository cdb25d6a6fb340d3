"""A link among results: a job does not write through it."""

import fcntl
import os
from types import SimpleNamespace

import pytest

from bottomup.core import running
from bottomup.core.errors import UserError
from bottomup.plan.links import require_none, written_by
from tests.plan.checkouts import RESULTS


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A study's folder with a run of another's, `runs/lm-1`, and a figure, `figures/a.png`."""
    monkeypatch.chdir(tmp_path)
    for folder in ("elsewhere/planned/figures", "elsewhere/planned/runs", "other/lm-1"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "results").symlink_to("elsewhere")
    study = tmp_path / "results/planned"
    (study / "runs/lm-1").symlink_to(tmp_path / "other/lm-1")
    (study / "figures/a.png").symlink_to(tmp_path / "thesis.png")
    return study.relative_to(tmp_path)


@pytest.mark.parametrize("written", ["runs/lm-1/model/config.json", "runs/lm-1", "figures/a.png"])
def test_what_leads_elsewhere_is_not_written(study, written):
    link = study / "/".join(written.split("/")[:2])
    with pytest.raises(UserError) as error:
        require_none(study, [f"{study}/{written}"])
    assert str(error.value).startswith(
        f"{link} is a link to {os.readlink(link)}, which would be written over"
    )


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


def test_all_results_may_be_elsewhere(study):
    require_none(study, [f"{study}/figures/b.png", f"{study}/runs/lm-2/model", "trained/x"])
    (study.parent / "second").symlink_to("planned")
    require_none(study.parent / "second", [f"{study.parent}/second/figures/b.png"])


def test_what_a_job_writes():
    job = SimpleNamespace(output=["a"], log=["b"], benchmark="c")
    assert [*written_by([job, SimpleNamespace(output=["d"], log=[], benchmark=None)])] == [*"abcd"]
