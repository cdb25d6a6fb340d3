"""Trainings by several objectives, one after another or mixed."""

from collections import Counter
from itertools import islice

import numpy as np
import pytest
import torch

from bottomup.core.errors import UserError
from bottomup.training.loop import Trainer
from tests.tiny import DROPOUT, same_bytes
from tests.training.test_loop import changed, stop_before
from tests.training.test_run import bytes_of, on_the_cpu, settings_of, trained, weights

__all__ = ["on_the_cpu", "trained"]

BACK = {
    "parts": [{"objective": n, "share": s} for n, s in (("lm", 0.4), ("mlm", 0.3), ("lm", 0.3))]
}
SWITCH = {"parts": [{"objective": "lm", "share": 0.4}, {"objective": "mlm", "share": 0.6}]}
HALVES = {"parts": [{"objective": n, "share": 0.5} for n in ("lm", "mlm")]}


def alone(name):
    return {"parts": [{"objective": name, "share": 1}]}


def watched(run, note):
    """The run, with a note of each update's example and mask."""
    summed_loss, noted = run.summed_loss, []

    def noting(example, smoothing):
        if run.model.training:
            noted.append(note(example))
        return summed_loss(example, smoothing)

    run.summed_loss = noting
    run.train()
    return noted


@pytest.mark.parametrize("name", ["schedule", "mix"])
@pytest.mark.parametrize("of", ["lm", "mlm"])
def test_of_one_it_is_that_objective_to_the_byte(trainer, name, of):
    made, plain = trainer(name, "made", options=alone(of), **DROPOUT), trainer(of, **DROPOUT)
    assert made.train() == plain.train()
    assert same_bytes(made.model.state_dict(), plain.model.state_dict())


def test_each_phase_has_its_share_of_tokens_and_its_mask(trainer):
    """The first ends with the update in which 0.4 of the tokens are read."""
    run = trainer("schedule", options=BACK)
    causal = watched(run, lambda _: run.model.encoder.causal)
    batches = islice(run.batches(), len(causal))
    lengths = [run.text.source.lengths[sentences].sum() for sentences in batches]
    before = np.cumsum([0, *lengths[:-1]]) / 550
    assert causal == [spent < 0.4 or spent >= 0.7 for spent in before]
    assert Counter(causal).keys() == {True, False}


def test_a_phase_sees_what_its_objective_sees(trainer):
    """A later token moves no state in the phases of LM, and moves states in that of MLM."""
    run = trainer("schedule", options=BACK)

    def moves(example):
        ids = torch.from_numpy(example.source)
        other = ids.clone()
        other[:, 2:] = 4 + (ids[:, 2:] - 3) % 16
        with torch.no_grad():
            first, second = (run.model.encoder(each).states[:, :2] for each in (ids, other))
        return not torch.allclose(first, second, atol=1e-6)

    seen = watched(run, lambda example: (moves(example), run.current.name))
    assert {*seen} == {(False, "lm"), (True, "mlm")}


def test_the_first_phase_is_the_beginning_of_the_run_of_its_objective(trainer):
    plain, run = trainer("lm", **DROPOUT), trainer("schedule", "made", options=BACK, **DROPOUT)
    step = 3
    stop_before(plain, step + 1)
    stop_before(run, step + 1)
    assert same_bytes(run.model.state_dict(), plain.model.state_dict())


@pytest.mark.long
@pytest.mark.parametrize(("name", "options"), [("schedule", BACK), ("mix", HALVES)])
@pytest.mark.parametrize("step", [2, 5, 8])
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not(trainer, name, options, step):
    """Before the switch, between the two, and after."""
    settings = changed(evaluate_every_steps=2)
    whole = trainer(name, "whole", settings=settings, options=options, **DROPOUT)
    progress = whole.train()
    stop_before(trainer(name, settings=settings, options=options, **DROPOUT), step)
    again = trainer(name, settings=settings, options=options, **DROPOUT)
    assert again.train() == progress
    assert same_bytes(again.model.state_dict(), whole.model.state_dict())


def test_a_mix_draws_by_its_shares_and_its_seed(trainer):
    quarter = {"parts": [{"objective": n, "share": s} for n, s in (("lm", 0.25), ("mlm", 0.75))]}
    run, other = trainer("mix", options=quarter), trainer("mix", options=quarter)
    other.seed = 2
    drawn = [run.drawn(step, 0.0).name for step in range(1000)]
    assert drawn == [run.drawn(step, 0.0).name for step in range(1000)]
    assert drawn != [other.drawn(step, 0.0).name for step in range(1000)]
    # The standard deviation is 13.7.
    assert drawn.count("lm") == pytest.approx(250, abs=55)


@pytest.mark.parametrize(
    ("name", "shares", "idle"),
    [
        ("schedule", {"lm": 0.99, "mlm": 0.01}, "mlm"),
        ("schedule", {"lm": 0.5, "lm_noise": 0.01, "mlm": 0.49}, "lm_noise"),
        ("mix", {"lm": 0.999, "mlm": 0.001}, "mlm"),
    ],
)
def test_a_part_without_an_update_is_told_before_any(trainer, name, shares, idle):
    """Of ten updates, 550 tokens in batches of up to 64."""
    parts = [{"objective": part, "share": share} for part, share in shares.items()]
    run = trainer(name, options={"parts": parts})
    before = {name: weight.clone() for name, weight in run.model.state_dict().items()}
    with pytest.raises(
        UserError, match=rf"^{name}: no update is of {idle} \(part \d\) among the 1\d that 550"
    ):
        run.train()
    assert same_bytes(run.model.state_dict(), before)


def test_a_mix_learns_all_its_parts_before_its_dev_loss_may_end_it(trainer):
    """At so high a rate the dev loss rises from the second evaluation on."""
    options = {"parts": [{"objective": "lm", "share": 0.9}, {"objective": "mlm", "share": 0.1}]}
    stalling = changed(patience=1, evaluate_every_steps=1, learning_rate=1.0, short_first=[])
    run = trainer("mix", options=options, settings=stalling)
    run.seed = 4
    of_mlm = [run.drawn(step, 0.0).name for step in range(1, 30)].index("mlm") + 1
    assert of_mlm > 3
    lines = run.train().metrics
    assert next(line["step"] for line in lines if not line["early"]) == of_mlm
    assert len(lines) < 10


def test_each_part_of_a_part_is_to_have_an_update(trainer):
    """A mix whose last part is a schedule; nothing is left out if each has a share to be seen."""
    for share, idle in ((0.001, True), (0.4, False)):
        shares = {"mlm": 1 - share, "lm_noise": share}
        within = {"parts": [{"objective": part, "share": of} for part, of in shares.items()]}
        inner = {"objective": "schedule", "share": 0.7, "options": within}
        run = trainer("mix", options={"parts": [{"objective": "lm", "share": 0.3}, inner]})
        if idle:
            with pytest.raises(UserError, match="no update is of lm_noise"):
                run.require_updates()
        else:
            run.require_updates()


def test_the_dev_loss_is_that_of_what_it_ends_with(trainer):
    """Of LM and MLM with the weights of one model: of the last, and of a mix by its shares."""
    alone = {}
    for name in ("lm", "mlm"):
        alone[name] = trainer(name).dev_loss()
    assert trainer("schedule", options=SWITCH).dev_loss() == alone["mlm"]
    assert trainer("schedule", options=BACK).dev_loss() == alone["lm"]
    mixed = {"parts": [{"objective": n, "share": s} for n, s in (("lm", 0.25), ("mlm", 0.75))]}
    expected = 0.25 * alone["lm"] + 0.75 * alone["mlm"]
    assert trainer("mix", options=mixed).dev_loss() == pytest.approx(expected)


def test_weights_of_an_earlier_phase_are_not_those_that_a_run_ends_with(trainer, monkeypatch):
    """Nor is its patience spent before the last phase."""
    settings = changed(evaluate_every_steps=1, patience=3)
    run = trainer("schedule", options=SWITCH, settings=settings)
    early, losses, kept = [], iter([2.0, 3.0, 3.0, 3.0, 3.0, 3.0]), []
    weights = lambda: {name: w.clone() for name, w in run.model.state_dict().items()}  # noqa: E731

    def dev_loss():
        if run.spent < 0.4:
            early.append(1)
            return 1.0
        kept.append(weights())
        return next(losses)

    monkeypatch.setattr(run, "dev_loss", dev_loss)
    progress = run.train()
    assert len(early) > 3 and len(kept) == 4, "one that is best, and three that are not"
    assert same_bytes(run.model.state_dict(), kept[0]) and progress.best_dev_loss == 2.0
    marks = [line["early"] for line in progress.metrics]
    assert marks == [True] * len(early) + [False] * len(kept)


def test_label_smoothing_is_that_of_the_part(trainer):
    parts = [{"objective": "lm", "share": 0.4, "options": {"label_smoothing": 0.2}}]
    run = trainer("schedule", options={"parts": [*parts, {"objective": "mlm", "share": 0.6}]})
    summed_loss, smoothings = run.summed_loss, set()

    def noting(example, smoothing):
        smoothings.add((run.current.name, run.model.training, smoothing))
        return summed_loss(example, smoothing)

    run.summed_loss = noting
    run.train()
    assert smoothings == {("lm", True, 0.2), ("mlm", True, 0.0), ("mlm", False, 0.0)}


def test_how_it_is_looked_at_is_no_part_of_its_training(trained, monkeypatch):
    """A second run is taken from where the first is kept; its folder says another mask."""
    mixed = settings_of("mix")
    first = trained(mixed, kept="kept", keep=[4])
    named = mixed | {"options": mixed["options"] | {"looked_at": "lm"}, "objective": "other"}
    monkeypatch.setattr(Trainer, "update", None)
    second = trained(named, "second", kept="kept")
    at_step = trained(named | {"step": 4}, "at step", kept="kept")
    assert same_bytes(weights(first), weights(second))
    assert not same_bytes(weights(first), weights(at_step))
    files, others = bytes_of(first), bytes_of(second)
    assert [name for name in files if files[name] != others[name]] == ["model/config.json"]
    assert b'"causal": true' in others["model/config.json"]
    assert b'"causal": false' in files["model/config.json"]
