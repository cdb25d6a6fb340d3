"""The environments for pip and for conda are the same."""

import re

import yaml

from tests.workflow.checkouts import ROOT

LOCK = (ROOT / "envs/requirements.lock").read_text().splitlines()


def test_conda_has_the_pins_of_the_lock():
    dependencies = yaml.safe_load((ROOT / "envs/bottomup.yaml").read_text())["dependencies"]
    assert dependencies[-1]["pip"] == LOCK


def test_the_lock_pins_what_is_asked_for():
    asked = [line for line in (ROOT / "envs/requirements.in").read_text().splitlines()]
    names = {re.match(r"[\w-]+", line)[0] for line in asked if not line.startswith("#")}
    assert names <= {line.partition("==")[0] for line in LOCK}
    assert "torch==2.13.0" in LOCK
