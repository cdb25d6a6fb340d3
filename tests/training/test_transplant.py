"""Heads that a run starts with: which, that they are the other run's, and that they stay."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from bottomup.core.errors import UserError
from bottomup.core.settings import HeadsFrom
from bottomup.model.folder import load
from bottomup.training import run
from bottomup.training.transplant import chosen, parts, transplant
from tests.tiny import drawn
from tests.training.test_run import on_the_cpu, settings_of, trained, weights

__all__ = ["on_the_cpu", "trained"]

# Of two layers of four heads, those with a function.
HELD = {1: [2], 2: [1, 3, 4]}


def functions(held=HELD, n_heads=4):
    """`head_functions` of a run in which these heads have one of two functions."""
    rows = [
        {"objective": "lm", "seed": 1, "attention": "encoder", "layer": layer, "head": head}
        | {"function": function, "held": head in held[layer] and function == "positional"}
        for layer in held
        for head in range(1, n_heads + 1)
        for function in ("positional", "rarest")
    ]
    return pd.DataFrame(rows)


def heads_from(choose="functional", frozen=True):
    return HeadsFrom(objective="lm", choose=choose, frozen=frozen)


def test_heads_with_a_function_are_chosen():
    assert chosen(functions(), heads_from(), 1) == [(1, 2), (2, 1), (2, 3), (2, 4)]


def test_as_many_others_of_each_layer_are_drawn():
    found = {seed: chosen(functions(), heads_from("others"), seed) for seed in range(20)}
    for places in found.values():
        in_first, in_second = ([head for layer, head in places if layer == n] for n in (1, 2))
        assert len(in_first) == 1 and set(in_first) <= {1, 3, 4}
        assert in_second == [2], "there is no more than one without a function"
    assert len({tuple(places) for places in found.values()}) == 3, "the seed draws"


def test_a_run_without_functions_has_none_to_give():
    with pytest.raises(UserError, match="no encoder head of lm has a function"):
        chosen(functions({1: [], 2: []}), heads_from(), 1)


def test_where_all_heads_of_a_layer_have_a_function_there_are_no_others():
    with pytest.raises(UserError, match="in each layer of lm where a head has a function all have"):
        chosen(functions({1: [], 2: [1, 2, 3, 4]}), heads_from("others"), 1)


@torch.no_grad()
def heads_output(model, x, layer, head):
    """What one head adds to the residual stream, computed apart."""
    attention = model.encoder.layers[layer - 1].attention
    attention.gates[:] = 0
    attention.gates[head - 1] = 1
    found = attention(x, x, causal=True)[0] - attention.out.bias
    attention.gates[:] = 1
    return found


def test_a_transplanted_head_does_what_it_did_and_the_others_what_they_did():
    mine, donor = (drawn("lm", seed=seed) for seed in (1, 2))
    x = torch.randn(2, 7, 16, generator=torch.Generator().manual_seed(0))
    before = {(n, h): heads_output(mine, x, n, h) for n in (1, 2) for h in (1, 2)}
    transplant(mine, donor, [(1, 2), (2, 1)])
    for place, was in before.items():
        expected = heads_output(donor, x, *place) if place in [(1, 2), (2, 1)] else was
        torch.testing.assert_close(heads_output(mine, x, *place), expected)


def given(folder, tmp_path, **options):
    """The arguments with which a run starts with heads of the one in `folder`."""
    functions({1: [2], 2: [1]}, n_heads=2).to_csv(tmp_path / "functions.csv", index=False)
    donor = (folder / "model/model.safetensors", tmp_path / "functions.csv")
    return {"heads_from": heads_from(**options).model_dump()}, donor


def of_head(folder, layer, head):
    """The numbers of a head of a run, from its file."""
    model = load(folder / "model")
    return torch.cat([part.flatten() for part in parts(model, (layer, head))]).detach()


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_frozen_heads_stay_and_all_else_is_trained(trained, tmp_path, optimizer):
    folder = trained(settings_of("lm", seed=2), "donor")
    extra, donor = given(folder, tmp_path)
    settings = settings_of("lm", optimizer=optimizer) | extra
    trained(settings, "frozen", donor=donor)
    trained(settings_of("lm", optimizer=optimizer), "plain")
    for place in ((1, 2), (2, 1)):
        assert torch.equal(of_head(tmp_path / "frozen", *place), of_head(folder, *place))
    for place in ((1, 1), (2, 2)):
        assert not torch.equal(of_head(tmp_path / "frozen", *place), of_head(folder, *place))
    assert weights(tmp_path / "frozen").keys() == weights(tmp_path / "plain").keys()
    lines = (tmp_path / "frozen/metrics.jsonl").read_text().splitlines()
    losses = [json.loads(line)["dev_loss_nats"] for line in lines]
    assert losses[-1] < losses[0]


def test_free_heads_start_as_given_and_move(trained, tmp_path):
    folder = trained(settings_of("lm", seed=2), "donor")
    extra, donor = given(folder, tmp_path, frozen=False)
    trained(settings_of("lm") | extra | {"step": 0}, "start", donor=donor)
    trained(settings_of("lm") | extra, "end", donor=donor)
    assert torch.equal(of_head(tmp_path / "start", 1, 2), of_head(folder, 1, 2))
    assert not torch.equal(of_head(tmp_path / "end", 1, 2), of_head(folder, 1, 2))


def test_a_stopped_run_goes_on_with_the_heads_as_given(trained, tmp_path, monkeypatch):
    folder = trained(settings_of("lm", seed=2), "donor")
    extra, donor = given(folder, tmp_path)
    settings = settings_of("lm") | extra
    trained(settings, "whole", donor=donor)
    evaluate, calls = run.Trainer.evaluate, []

    def stops(self, *arguments):
        evaluate(self, *arguments)
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(run.WithFrozenHeads, "evaluate", stops)
    with pytest.raises(KeyboardInterrupt):
        trained(settings, "stopped", donor=donor)
    monkeypatch.setattr(run.WithFrozenHeads, "evaluate", evaluate)
    trained(settings, "stopped", donor=donor)
    assert all(
        torch.equal(one, other)
        for one, other in zip(
            weights(tmp_path / "whole").values(),
            weights(tmp_path / "stopped").values(),
            strict=True,
        )
    )


def test_a_finished_run_with_heads_of_another_donor_is_trained(trained, tmp_path):
    """It is known by the donor's bytes, too, whatever its name."""
    folders = [trained(settings_of("lm", seed=seed), f"donor{seed}") for seed in (2, 3)]
    found = []
    for n, folder in enumerate(folders):
        extra, donor = given(folder, tmp_path)
        trained(settings_of("lm") | extra, f"run{n}", kept="kept", donor=donor)
        found.append(of_head(tmp_path / f"run{n}", 1, 2))
    assert not np.array_equal(*found)
