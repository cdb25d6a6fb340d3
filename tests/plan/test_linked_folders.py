"""A link among results: a job does not write through it."""

import os
from types import SimpleNamespace

import pytest

from bottomup.core.errors import UserError
from bottomup.plan.links import require_none, written_by


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
        f"{link} is a link to {os.readlink(link)}, which a job would"
    )


def test_all_results_may_be_elsewhere(study):
    require_none(study, [f"{study}/figures/b.png", f"{study}/runs/lm-2/model", "trained/x"])
    (study.parent / "second").symlink_to("planned")
    require_none(study.parent / "second", [f"{study.parent}/second/figures/b.png"])


def test_what_a_job_writes():
    job = SimpleNamespace(output=["a"], log=["b"], benchmark="c")
    assert [*written_by([job, SimpleNamespace(output=["d"], log=[], benchmark=None)])] == [*"abcd"]
