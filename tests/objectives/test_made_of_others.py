"""Objectives that are made of others: what they are at each point of a training."""

import pytest

from bottomup import objectives
from bottomup.core.schema import problems
from bottomup.corpus.batches import Text
from bottomup.objectives import mlm
from bottomup.training.budget import in_training, predictions
from tests.tiny import random_tokens

LM, MLM = objectives.load("lm", {}), objectives.load("mlm", {"choose": 0.25})


def made(name, *parts, **options):
    """Of parts (objective, share), MLM with an option of its own."""
    own = {"mlm": {"choose": 0.25}}
    of = [{"objective": n, "share": share, "options": own.get(n, {})} for n, share in parts]
    return objectives.load(name, {"parts": of} | options)


def test_phases_follow_each_other_by_their_shares():
    objective = made("schedule", ("lm", 0.5), ("mlm", 0.25), ("lm", 0.25))
    turns = {0.0: LM, 0.499: LM, 0.5: MLM, 0.749: MLM, 0.75: LM, 0.9: LM, 1.0: LM, 1.2: LM}
    assert {spent: objective.at(spent) for spent in turns} == {
        spent: [(1.0, phase)] for spent, phase in turns.items()
    }
    assert objective.last_from == 0.75


def test_a_mix_is_the_same_at_any_time():
    objective = made("mix", ("lm", 0.25), ("mlm", 0.75))
    assert objective.at(0.0) == objective.at(1.0) == [(0.25, LM), (0.75, MLM)]
    assert objective.last_from == 0


def test_a_plain_objective_is_itself():
    assert LM.at(0.3) == [(1.0, LM)] and LM.all == [LM] and LM.seen is LM and LM.last_from == 0


def test_phases_may_be_mixes_and_parts_schedules():
    """Half a mix, then a schedule whose second half is MLM: that begins after three quarters."""
    halves = {"parts": [{"objective": n, "share": 0.5} for n in ("lm", "mlm")]}
    of = [{"objective": n, "share": 0.5, "options": halves} for n in ("mix", "schedule")]
    schedule, mix = (objectives.load(name, {"parts": of}) for name in ("schedule", "mix"))
    names = {
        spent: [(share, part.name) for share, part in schedule.at(spent)]
        for spent in (0.0, 0.5, 0.74, 0.75)
    }
    mixed = [(0.5, "lm"), (0.5, "mlm")]
    assert names == {0.0: mixed, 0.5: [(1, "lm")], 0.74: [(1, "lm")], 0.75: [(1, "mlm")]}
    assert (schedule.last_from, mix.last_from) == (0.75, 0.5)
    assert [(share, part.name) for share, part in mix.at(0.6)] == [
        *[(0.25, "lm"), (0.25, "mlm")],
        (0.5, "mlm"),
    ]
    assert schedule.seen.name == "mlm"
    assert {each.name for each in schedule.all} == {"schedule", "mix", "lm", "mlm"}


@pytest.mark.parametrize("name", ["schedule", "mix"])
def test_it_is_looked_at_as_its_last_part_or_the_one_that_is_named(name):
    parts = ("lm", 0.5), ("mlm", 0.5)
    last, named = made(name, *parts), made(name, *parts, looked_at="lm")
    assert (last.seen, last.causal, last.masked, last.read_as) == (
        *(MLM, False, True),
        ["masked", "replaced"],
    )
    assert (named.seen, named.causal, named.masked) == (LM, True, False)


@pytest.mark.parametrize("name", ["schedule", "mix"])
def test_predictions_are_those_of_the_parts_by_their_shares(name):
    """0.4 x 1 + 0.6 x 0.25 of each token but the first of a sentence of 11 with </s>."""
    objective = made(name, ("lm", 0.4), ("mlm", 0.6))
    text = Text(random_tokens(20, 0, low=10, high=10))
    assert in_training(predictions, objective, text, []) == pytest.approx(0.55 * 10 / 11)


def test_options_of_parts_have_their_defaults_so_that_equal_ones_are_equal():
    [first, second] = (
        objectives.load("mix", {"parts": [{"objective": "mlm", "share": 1, "options": options}]})
        for options in ({}, {"choose": 0.15})
    )
    assert first == second and first.model_dump() == second.model_dump()


ONE = {"objective": "lm", "share": 1}


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"parts": [ONE, ONE]}, "the shares are 2 together; allowed: 1"),
        ({"parts": 3 * [ONE | {"share": 0.3333333}]}, "the shares are 0.9999999 together; allowed"),
        ({"parts": [ONE | {"share": 0}]}, "parts[0].share: found 0; allowed: number, > 0, <= 1"),
        *(
            (
                {"parts": [ONE | {"objective": name}]},
                f'found "{name}"; allowed: one that is trained',
            )
            for name in (
                "mt",
                "bilm",
                "lm_backward",
                "denoising",
                "tlm",
                "first_letter",
                "untrained",
            )
        ),
        ({"parts": [ONE | {"objective": "a.b"}]}, 'found "a.b"; allowed: a module of bottomup/o'),
        ({"parts": [ONE | {"options": {"x": 1}}]}, "x: unknown key; allowed: label_smoothing"),
        ({"parts": [ONE | {"shares": 1}]}, "parts[0].shares: unknown key; allowed: objective,"),
        ({"parts": []}, "parts: found []; allowed: list (section of objective, share, options)"),
        ({"looked_at": "mt"}, "looked_at is mt; allowed: lm, mlm, or null"),
        ({"label_smoothing": 0.1}, "label_smoothing: unknown key; allowed: looked_at, parts"),
    ],
)
def test_what_is_wrong_is_one_line(options, line):
    for name in ("schedule", "mix"):
        [found] = problems(objectives.kind(name), options)
        assert line in found and "\n" not in found


@pytest.mark.parametrize("name", ["schedule", "mix"])
def test_a_part_that_reads_tokens_of_its_own_is_refused(name, marked):
    """The model of the others has no room for them."""
    [found] = problems(objectives.kind(name), {"parts": [ONE | {"objective": marked}]})
    assert f'found "{marked}"; allowed: one that is trained' in found
    assert "reads no tokens of its own" in found


@pytest.mark.parametrize("name", ["schedule", "mix"])
def test_parts_learn_what_the_tokens_are(name, monkeypatch):
    heard = []
    monkeypatch.setattr(mlm.Objective, "learn_types", lambda part, types: heard.append(types))
    objectives.load(name, {}).learn_types(["a", "b"])
    assert heard == [["a", "b"]]
