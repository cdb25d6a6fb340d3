"""Trainings that hear real signals."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from bottomup.training import stopping
from tests.tiny import DROPOUT, ROOT, same_bytes
from tests.training.test_loop import TRAINED

# In the second call of what the signal comes, and at which step that is: in an update before the
# first checkpoint, in an evaluation, and in the saving of one.
MOMENTS = {"update": 2, "dev_loss": 6, "save": 6}


def stopped(training) -> int:
    """Train until a signal stops it; the status that it leaves with."""
    with pytest.raises(SystemExit) as left, stopping.listening():
        training()
    return left.value.code


@pytest.mark.long
@pytest.mark.parametrize("number", stopping.SIGNALS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_going_on_after_a_signal_is_never_having_stopped(
    trainer, signal_in_call, moment, number, caplog
):
    """Bit for bit, and with all losses since the last evaluation in the metrics."""
    caplog.set_level("INFO")
    whole = trainer("mlm", "whole", **DROPOUT)
    expected = whole.train()
    run = trainer("mlm", **DROPOUT)
    signal_in_call(run.checkpoint if moment == "save" else run, moment, 2, number)
    assert stopped(run.train) == 75
    step = MOMENTS[moment]
    assert f"stopped by {number.name} after step {step};" in caplog.text
    state = json.loads((run.checkpoint.folder / "state.json").read_text())["state"]
    assert state["newest"] == step
    resumed = trainer("mlm", **DROPOUT)
    assert resumed.train() == expected
    assert same_bytes(resumed.model.state_dict(), whole.model.state_dict())


@pytest.mark.parametrize("objective", TRAINED)
def test_a_signal_in_every_update(trainer, signal_in_call, objective):
    """Each time one update is done; a signal in the last one finds the run at its end."""
    whole = trainer(objective, "whole", **DROPOUT)
    expected = whole.train()
    for _ in range(expected.step - 1):
        run = trainer(objective, **DROPOUT)
        signal_in_call(run, "update", 1)
        assert stopped(run.train) == 75
    run = trainer(objective, **DROPOUT)
    signal_in_call(run, "update", 1)
    with stopping.listening():
        assert run.train() == expected
    assert same_bytes(run.model.state_dict(), whole.model.state_dict())


def test_a_signal_before_the_first_update(trainer, caplog):
    caplog.set_level("INFO")
    run = trainer()
    run.update = None

    def training():
        os.kill(os.getpid(), signal.SIGTERM)
        run.train()

    assert stopped(training) == 75
    assert "after step 0" in caplog.text and not run.checkpoint.folder.exists()


def test_no_signal_is_left_over(trainer, signal_in_call):
    before = [signal.getsignal(number) for number in stopping.SIGNALS]
    run = trainer()
    signal_in_call(run, "update", 2)
    stopped(run.train)
    assert [signal.getsignal(number) for number in stopping.SIGNALS] == before
    assert stopping.heard() is None
    assert trainer().train().step > 2


# Signals that follow each other after this many seconds.
TWICE = """
import signal, sys, time
from bottomup.training import stopping
with stopping.listening():
    signal.raise_signal(signal.SIGUSR1)
    stopping.SAME_SECONDS = float(sys.argv[1])
    time.sleep(0.01)
    signal.raise_signal(signal.SIGTERM)
    print(stopping.heard().name)
"""


@pytest.mark.parametrize(("same", "status"), [("0", -signal.SIGTERM), ("60", 0)])
def test_a_second_signal_ends_at_once(same, status):
    """But one that comes with the first, by another way, does not count."""
    command = [sys.executable, "-c", TWICE, same]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert done.stdout == ("" if status else "SIGUSR1\n")


# On SLURM


@pytest.fixture
def scontrol(tmp_path, monkeypatch):
    """One that notes what it is asked; it may be made to refuse."""
    program = tmp_path / "bin" / "scontrol"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "12_3")
    return program


@pytest.mark.parametrize("number", stopping.SIGNALS)
def test_only_a_job_whose_time_is_up_is_queued_again_by_itself(scontrol, tmp_path, number):
    """What is cancelled stays so, and SLURM itself queues again what it preempts."""
    with pytest.raises(SystemExit) as left:
        stopping.leave(number, step=5, began=4)
    assert left.value.code == 75
    asked = tmp_path / "asked"
    assert asked.exists() == (number in (signal.SIGUSR1, signal.SIGALRM))
    assert not asked.exists() or asked.read_text() == "requeue 12_3\n"


def test_a_training_that_came_no_further_is_not_queued_again(scontrol, tmp_path):
    with pytest.raises(SystemExit) as left:
        stopping.leave(signal.SIGALRM, step=5, began=5)
    assert left.value.code == 75
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("0:59", 59),
        ("10:00", 600),
        ("1:02:03", 3723),
        ("2-01:00:05", 176405),
        ("UNLIMITED", None),
        ("INVALID", None),
        ("", None),
    ],
)
def test_how_long_a_job_may_run(scontrol, said, seconds):
    """In the forms of squeue's manual, TimeLeft."""
    scontrol.with_name("squeue").write_text(f'#!/bin/sh\necho "{said}"\n')
    scontrol.with_name("squeue").chmod(0o755)
    assert stopping.seconds_left() == seconds


def test_time_is_up_before_slurm_says_so(scontrol, trainer, monkeypatch, tmp_path):
    """Of two seconds a quarter, of which whole ones are 0, is for saving."""
    monkeypatch.setattr(stopping, "seconds_left", lambda: 2)
    run = trainer("lm")
    update = run.update
    monkeypatch.setattr(run, "update", lambda *given: time.sleep(0.5) or update(*given))
    assert stopped(run.train) == 75
    assert (tmp_path / "asked").read_text() == "requeue 12_3\n"


@pytest.mark.parametrize("said", ["refused", "missing", "no SLURM"])
def test_where_slurm_does_not_queue_it_again_it_leaves_alike(scontrol, monkeypatch, caplog, said):
    caplog.set_level("INFO")
    if said == "refused":
        scontrol.write_text("#!/bin/sh\nexit 1\n")
    elif said == "missing":
        monkeypatch.setenv("PATH", "")
    else:
        monkeypatch.delenv("SLURM_JOB_ID")
    with pytest.raises(SystemExit) as left:
        stopping.leave(signal.SIGUSR1, step=5, began=4)
    assert left.value.code == 75
    assert ("SLURM does not run job 12_3 again" in caplog.text) == (said != "no SLURM")
