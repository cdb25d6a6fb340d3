"""A training in two processes of a job: it is that of one but for rounding."""

import dataclasses
import json
import re

import pytest

from tests.slurm.conftest import ASKED
from tests.slurm.studies import RESULTS, TABLES, Study

pytestmark = pytest.mark.skipif(ASKED != "faults", reason="minutes: SLURM_TESTS=faults")

METRICS = RESULTS / "runs/lm-1/metrics.jsonl"
SHORT = [("max_tokens: 1000000", "max_tokens: 100000"), ("d_ff: 64", "d_ff: 64, dropout: 0.0")]


@pytest.fixture
def study(undisturbed, tmp_path):
    """A short training, without what is drawn in each process: dropout."""
    study = undisturbed.copy(tmp_path / "study")
    study.forget("trained", RESULTS / "runs", RESULTS / "measures")
    config = study.path / "study.yaml"
    for old, new in SHORT:
        assert config.read_text().count(old) == 1
        config.write_text(config.read_text().replace(old, new))
    command = ("--configfile=study.yaml", str(METRICS), str(RESULTS / TABLES[0]))
    yield dataclasses.replace(study, command=command)
    study.cluster("scancel", "--user=root")


@pytest.fixture
def losses_of_one(study, tmp_path):
    one = dataclasses.replace(study, path=study.copy(tmp_path / "one").path)
    one.run(profile=False)
    return dev_losses(one)


def dev_losses(study: Study) -> list[float]:
    lines = (study.path / METRICS).read_text().splitlines()
    return [json.loads(line)["dev_loss_nats"] for line in lines]


def test_job_of_two_gpus(study, cluster, losses_of_one, monkeypatch):
    """Both of the type that the profile names, and no job of the others asks for one."""
    monkeypatch.setenv("BOTTOMUP_DEVICE", "cpu")
    two_gpus = ["--resources", "gpu=2", "--set-resources", "train_lm:gpu=2"]
    study.run(*two_gpus, "--default-resources", "gpu_model=pretend")
    assert dev_losses(study) == pytest.approx(losses_of_one, rel=1e-3)
    for name, count in (("rule_train_lm", 2), ("look_at_lm-1", 0)):
        asked = cluster.field(cluster.job(name), "TresPerJob")
        assert asked == f"gres:gpu:pretend:{count}"


def test_job_of_two_tasks(study, cluster, losses_of_one):
    """By hand, as docs/running.md has it; Snakemake then finds it in trained/."""
    planned = study.plan("--printshellcmds")
    program = re.search(r"scripts/train\.py .* --gpus 0 .*(?= &>)", planned)[0]
    for old, new in (("--gpus 0", ""), (f"--run $(dirname {METRICS})", "--run by_hand")):
        assert program.count(old) == 1
        program = program.replace(old, new)
    meeting = "--rdzv-backend c10d --rdzv-endpoint $(hostname)"
    script = study.path / "two.sh"
    script.write_text(f"#!/bin/sh\nsrun torchrun --nnodes 2 {meeting} -- {program}\n")
    where = [f"--chdir={study.path}", f"--export=ALL,PYTHONPATH={study.path}", "--output=two.log"]
    cluster("sbatch", "--wait", "--ntasks=2", "--mem=4000", *where, str(script))
    study.run(profile=False)
    assert dev_losses(study) == pytest.approx(losses_of_one, rel=1e-3)
    assert "taken from" in (study.path / RESULTS / "logs/train_lm.1.log").read_text()
