"""The command ./study, with a Snakemake that only says how it was called."""

import shutil
import subprocess
import sys

import pytest

from tests.workflow.checkouts import ROOT

SAYS = '#!/usr/bin/env bash\nprintf "%s\\n" "$@"\n'


@pytest.fixture
def study(tmp_path):
    shutil.copy2(ROOT / "study", tmp_path)
    (tmp_path / "envs").mkdir()
    (tmp_path / ".venv/bin").mkdir(parents=True)
    python = f'#!/usr/bin/env bash\nexec {sys.executable} "$@"\n'
    for name, text in (
        ("envs/make", SAYS),
        (".venv/bin/snakemake", SAYS),
        (".venv/bin/python", python),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    def call(*arguments):
        done = subprocess.run(
            [tmp_path / "study", *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout.split("\n")[:-1]

    return call


@pytest.mark.parametrize(
    "arguments",
    [
        *(["-n"], ["-Fn"], ["-nF"], ["-pn"], ["-npk"], ["--dry-run"], ["--dryrun"], ["-t"]),
        *(["--touch"], ["--executor", "dryrun"], ["--configfile", "studies/smoke.yaml", "-Fn"]),
    ],
    ids=" ".join,
)
def test_nothing_is_reported_of_what_is_not_run(study, arguments):
    assert study(*arguments)[-2 - len(arguments) :] == ["--cores", "all", *arguments]


@pytest.mark.parametrize(
    "arguments",
    [
        *([], ["-F"], ["-k"], ["--configfile", "n"], ["--until", "-n-", "train_lm"]),
        ["--config", "study=-n"],
    ],
    ids=" ".join,
)
def test_a_report_is_written_of_what_is_run(study, arguments):
    reported = ["--report", "report.html", "--report-after-run"]
    assert study(*arguments)[-5 - len(arguments) :] == ["--cores", "all", *reported, *arguments]
