import json
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch

from bottomup import objectives, subjects
from bottomup.core.errors import UserError
from bottomup.core.kinds import GATED
from bottomup.core.settings import Pruned
from bottomup.heads.gates import penalty
from bottomup.heads.pruning import (
    PLACE,
    Pruner,
    Settings,
    as_many,
    close,
    gates_over_time,
    prune,
)
from bottomup.heads.runs.predictor import RunPredictor
from bottomup.training.checkpoint import Checkpoint
from bottomup.training.loop import Trainer
from bottomup.training.run import save
from bottomup.training.stopping import listening
from tests.tiny import DROPOUT, drawn, random_text, same_bytes
from tests.training.test_loop import TRAINED, changed, stop_before

GATES = {"penalty": 0.1, "learning_rate": 0.05, "initial_log_alpha": 2.0}


@pytest.fixture
def pruner(tmp_path):
    """Make a pruner of a tiny model; two with the same `folder` share a checkpoint."""

    def make(objective="mt", kinds="all", folder="run", accumulate=1, shape=None, **gates):
        translated = objective == "mt"
        model = drawn(objective, **(shape or {}))
        predictor = RunPredictor(model, objectives.load(objective, {}))
        return Pruner(
            predictor,
            predictor.learner(encoder_alone=kinds == "encoder"),
            random_text(60, 0, translated),
            random_text(20, 1, translated),
            changed(evaluate_every_steps=2),
            1,
            Checkpoint(tmp_path / folder, {"run": "tiny"}),
            accumulate,
            kinds=GATED[kinds if translated else "encoder"],
            **GATES | gates,
        )

    return make


def gates_of(model):
    return [module.gates for modules in model.attentions().values() for module in modules]


@pytest.mark.parametrize("objective", TRAINED)
def test_a_high_penalty_closes_every_head(pruner, objective):
    trainer = pruner(objective, penalty=100.0, learning_rate=1.0)
    trainer.train()
    assert not any(gates.any() for gates in gates_of(trainer.model))


def test_a_head_that_does_nothing_is_closed_by_any_penalty(pruner):
    """Its gate's gradient is the penalty's alone, so Adam moves it down at every step."""
    trainer = pruner(penalty=1e-6, learning_rate=0.5)
    trainer.model.requires_grad_(False)
    trainer.gates.requires_grad_(True)
    trainer.model.decoder.layers[0].cross.out.weight[:, :8] = 0.0
    trainer.train()
    assert trainer.model.decoder.layers[0].cross.gates[0] == 0


def test_pruning_the_encoder_leaves_the_decoder_bit_for_bit(pruner):
    trainer = pruner(kinds="encoder", shape=DROPOUT)
    before = {name: p.clone() for name, p in trainer.model.named_parameters()}
    trainer.train()
    after = dict(trainer.model.named_parameters())
    changed = {name for name in after if not torch.equal(after[name], before[name])}
    assert changed == {name for name in after if name.startswith("encoder.")}
    assert all((gates == 1).all() for gates in gates_of(trainer.model)[2:])


def test_pruning_all_kinds_freezes_nothing(pruner):
    trainer = pruner(shape=DROPOUT)
    before = {name: p.clone() for name, p in trainer.model.named_parameters()}
    trainer.train()
    after = dict(trainer.model.named_parameters())
    assert not [name for name in after if torch.equal(after[name], before[name])]


def test_the_model_ends_with_the_last_gates_and_nothing_else(pruner):
    trainer = pruner(penalty=0.0, learning_rate=1e-3)
    with torch.no_grad():
        for gates in trainer.gates:
            gates.log_alpha.copy_(torch.tensor([-1.0, 1.0]))
    names = trainer.model.state_dict().keys()
    progress = trainer.train()
    table = gates_over_time(progress)
    last = table[table["step"] == progress.step]
    assert trainer.model.state_dict().keys() == {n for n in names if "hard_concrete" not in n}
    for kind, layer, head, kept in last[["kind", "layer", "head", "kept"]].itertuples(index=False):
        assert trainer.model.attentions()[kind][layer - 1].gates[head - 1] == float(kept)
    assert 0 < last["kept"].sum() < len(last)
    assert (last["kept"] == (last["open_probability"] > 0.68812)).all()


@pytest.mark.parametrize("objective", ["lm", "mt"])
def test_a_stopped_run_ends_with_the_same_bytes(pruner, objective):
    whole = pruner(objective, folder="whole", shape=DROPOUT)
    progress = whole.train()
    stop_before(pruner(objective, folder="stopped", shape=DROPOUT), 6)
    again = pruner(objective, folder="stopped", shape=DROPOUT)
    assert again.train() == progress
    assert same_bytes(again.model.state_dict(), whole.model.state_dict())


def test_going_on_after_a_signal_is_never_having_stopped(pruner, signal_in_call):
    """Between two evaluations, while gates are neither open nor closed."""
    whole = pruner(folder="whole", shape=DROPOUT)
    progress = whole.train()
    stopped = pruner(folder="stopped", shape=DROPOUT)
    signal_in_call(stopped, "update", 5)
    with pytest.raises(SystemExit), listening():
        stopped.train()
    again = pruner(folder="stopped", shape=DROPOUT)
    assert again.checkpoint.state()["progress"]["step"] == 5
    assert again.train() == progress
    assert same_bytes(again.model.state_dict(), whole.model.state_dict())


def test_the_loss_is_that_of_training_and_the_penalty(pruner):
    """With gates that no noise closes, the loss differs by the penalty alone."""
    free, priced = pruner(penalty=0.0, initial_log_alpha=50.0), pruner(initial_log_alpha=50.0)
    sentences = np.arange(10)
    losses = [trainer.update(sentences, step=1) for trainer in (free, priced)]
    # Every head of each layer, two here, is open with probability 1 - 1e-6.
    assert float(losses[1] - losses[0]) == pytest.approx(0.1 * 2, rel=1e-4)


def test_parts_of_a_batch_share_the_noise(pruner):
    """With noise of their own, parts would have other gates, and so other gradients.

    Adam's first moments are a tenth of the gradients.
    """
    moments = []
    for parts in (1, 3):
        trainer = pruner(accumulate=parts, folder=str(parts), initial_log_alpha=0.0)
        trainer.update(np.arange(12), step=1)
        moments.append([state["exp_avg"] for state in trainer.optimizers[0].state.values()])
    for whole, split in zip(*moments, strict=True):
        torch.testing.assert_close(whole, split, rtol=1e-3, atol=1e-6)


def test_every_update_draws_the_gates_anew(pruner):
    trainer, drawn_gates = pruner(), []
    for trainer.seed, step in ((1, 1), (1, 2), (2, 1), (1, 1)):
        trainer.update(np.arange(6), step)
        drawn_gates.append(tuple(torch.cat(trainer.noise).tolist()))
    assert drawn_gates[0] == drawn_gates[3] and len(set(drawn_gates)) == 3


def test_gates_have_their_own_learning_rate(pruner):
    """Adam's first step is its rate: log_alpha moves by 0.05, whatever the warm-up."""
    trainer = pruner()
    trainer.update(np.arange(10), step=1)
    moved = torch.cat([gate.log_alpha for gate in trainer.gates]) - 2.0
    torch.testing.assert_close(moved.abs(), torch.full_like(moved, 0.05), rtol=1e-3, atol=0)


def test_the_penalty_counts_layers_of_all_kinds(pruner):
    trainer = pruner(initial_log_alpha=50.0)
    assert len(trainer.gates) == 6  # two layers of encoder, decoder and cross-attention
    assert penalty(trainer.gates).item() == pytest.approx(2, rel=1e-5)


def table(kept, step=0):
    """Two kinds, two layers, two heads."""
    places = [
        (kind, layer, head) for kind in ("cross", "encoder") for layer in (1, 2) for head in (1, 2)
    ]
    rows = [(step, *place, float(k), k) for place, k in zip(places, kept, strict=True)]
    columns = ["step", "kind", "layer", "head", "open_probability", "kept"]
    return pd.DataFrame(rows, columns=columns)


GATES_FOUND = pd.concat([table([True] * 8, 10), table([True, False] * 3 + [False] * 2, 20)])


def test_from_scratch_has_the_same_heads():
    found = as_many("scratch", GATES_FOUND, draw=1)
    assert found["kept"].tolist() == [True, False] * 3 + [False] * 2
    assert set(found["step"]) == {0}


@pytest.fixture
def states(monkeypatch):
    """The weights at each evaluation."""
    found, evaluate = [], Trainer.evaluate

    def noted(trainer, progress, train_loss):
        evaluate(trainer, progress, train_loss)
        found.append({n: w.detach().cpu().clone() for n, w in trainer.model.state_dict().items()})

    monkeypatch.setattr(Trainer, "evaluate", noted)
    return found


def prune_lm(corpus_files, tmp_path, method, training, seed=1, code=None, **shape):
    """Train an LM with every second head of its encoder."""
    vocab = len(json.loads(corpus_files.tokenizer("source").read_text())["model"]["vocab"])
    save(drawn("lm", vocab=vocab, **shape), corpus_files.tokenizers("lm"), tmp_path / "run")
    options = objectives.load("lm", {}).model_dump()
    run = {"objective": "lm", "module": "lm", "options": options, "seed": seed}
    pruned = Pruned(attention="encoder", method=method, penalty=0.1)
    prune(
        Settings(**run, pruned=pruned, training=training),
        code or {},
        *([corpus_files.tokens / f"{split}.source/ids.npy"] for split in ("train", "dev")),
        tmp_path / "run",
        table([True, False] * 4).query("kind == 'encoder'"),
        tmp_path / "pruned",
        tmp_path / "gates.csv",
        accumulate=1,
        trained=tmp_path / "trained",
    )


def test_from_scratch_starts_from_the_initial_weights_of_the_seed(
    corpus_files, tmp_path, monkeypatch
):
    class AskedError(Exception): ...

    def noting(folder, seed):
        raise AskedError(seed)

    monkeypatch.setattr("bottomup.heads.pruning.subjects.untrained", noting)
    for seed in (1, 7):
        with pytest.raises(AskedError) as asked:
            prune_lm(corpus_files, tmp_path, "scratch", changed(batch_tokens=200), seed)
        assert asked.value.args == (seed,)


def test_a_model_with_another_config_is_another_model(corpus_files, tmp_path, monkeypatch):
    """Dropout is in no weight, but in what training makes of them."""
    method = partial(prune_lm, corpus_files, tmp_path, "random", changed(batch_tokens=200))
    method(code={"a.py": "digest"})
    monkeypatch.setattr(Trainer, "update", None)
    method(code={"a.py": "digest"})  # is found
    with pytest.raises(TypeError):
        method(code={"a.py": "digest"}, dropout=0.5)


# At so high a rate the dev loss is not lowest at the end, and stalls long before.
STALLING = {"batch_tokens": 200, "learning_rate": 2.0, "evaluate_every_steps": 1, "patience": 1}


def test_from_scratch_it_ends_as_a_run_does(states, corpus_files, tmp_path):
    """With its lowest dev loss, and where that stalls; else it would be trained for too long."""
    training = changed(**STALLING)
    prune_lm(corpus_files, tmp_path, "scratch", training)
    lines = [json.loads(line) for line in (tmp_path / "pruned/metrics.jsonl").open()]
    losses = [line["dev_loss_nats"] for line in lines]
    assert lines[-1]["tokens"] < training.max_tokens and losses[-2] < losses[-1]
    model = subjects.load(tmp_path / "pruned/model").model
    assert same_bytes(model.state_dict(), states[int(np.argmin(losses))])


def test_a_model_with_fewer_heads_ends_with_its_last_step(states, corpus_files, tmp_path):
    training = changed(**STALLING)
    prune_lm(corpus_files, tmp_path, "random", training)
    lines = [json.loads(line) for line in (tmp_path / "pruned/metrics.jsonl").open()]
    losses = [line["dev_loss_nats"] for line in lines]
    assert lines[-1]["tokens"] >= training.max_tokens > lines[-2]["tokens"]
    assert len(losses) == len(states) > 2 and min(losses) < losses[-1]
    model = subjects.load(tmp_path / "pruned/model").model
    assert same_bytes(model.state_dict(), states[-1])
    assert not same_bytes(model.state_dict(), states[int(np.argmin(losses))])
    assert [gates.tolist() for gates in gates_of(model)] == [[1, 0], [1, 0]]


def test_the_most_important_heads_are_kept_whatever_their_kind():
    importance = table([True] * 8).rename(columns={"kind": "attention"}).drop(columns="kept")
    importance["value"] = [0.1, 0.9, 0.2, 0.3, 0.8, 0.0, 0.7, 0.25]
    importance["importance"] = "gradient"
    other = importance.assign(importance="confidence", value=0.5)
    mixed = pd.concat([other, importance]).sample(frac=1, random_state=1)
    found = as_many("gradient", GATES_FOUND, mixed, draw=1)
    assert found["kept"].tolist() == [False, True, False, False, True, False, True, False]


IMPORTANCE = (
    table([True] * 8)
    .rename(columns={"kind": "attention"})
    .drop(columns="kept")
    .assign(importance="gradient", value=np.arange(8.0))
)


@pytest.mark.parametrize(
    ("method", "gates", "importance", "said"),
    [
        ("best", GATES_FOUND, IMPORTANCE, "method best; allowed: scratch, random, confidence"),
        ("gradient", GATES_FOUND, None, "no table of importance"),
        ("relevance", GATES_FOUND, IMPORTANCE, "relevance_alpha_beta has no value for head 1"),
        ("gradient", GATES_FOUND, IMPORTANCE.iloc[[0, *range(2, 8)]], "head 2 of layer 1 (cross)"),
        ("gradient", GATES_FOUND, IMPORTANCE.replace({"value": 3}, np.nan), "head 2 of layer 2"),
        ("gradient", GATES_FOUND, pd.concat([IMPORTANCE] * 2), "gradient in the table of imp"),
        ("scratch", pd.concat([GATES_FOUND] * 2), None, "gates at the last step: head 1"),
    ],
)
def test_heads_are_not_chosen_by_what_is_not_known(method, gates, importance, said):
    with pytest.raises(UserError, match=re.escape(said)):
        as_many(method, gates, importance, draw=1)


def test_gates_of_several_steps_close_nothing():
    model, gates = drawn("mt"), pd.concat([GATES_FOUND.query("step == 20"), table([True] * 8)])
    with pytest.raises(UserError, match=r"gates: head 1 of layer 1 \(cross\) has several rows"):
        close(model, gates)


def test_random_heads_are_as_many_and_follow_the_draw():
    found = [as_many("random", GATES_FOUND, draw=draw) for draw in (1, 1, 2, 3)]
    assert all(each["kept"].sum() == 3 for each in found)
    assert found[0]["kept"].equals(found[1]["kept"])
    assert any(not found[0]["kept"].equals(each["kept"]) for each in found[2:])


@pytest.mark.parametrize(
    "place", [("encoder", 1, 0), ("encoder", 0, 1), ("encoder", 1, 9), ("x", 1, 1)]
)
def test_heads_that_a_model_does_not_have_close_no_other(place):
    model = drawn("lm")
    before = [gates.tolist() for gates in gates_of(model)]
    with pytest.raises(UserError, match=r"gates: found .*; allowed: heads of the model"):
        close(
            model,
            pd.DataFrame([("encoder", 1, 1, False), (*place, False)], columns=[*PLACE, "kept"]),
        )
    assert [gates.tolist() for gates in gates_of(model)] == before


def test_closing_heads():
    model = drawn("mt")
    close(model, table([False, True] * 4))
    assert [gates.tolist() for gates in gates_of(model)] == [[0, 1], [0, 1], [1, 1], [1, 1]] + [
        [0, 1]
    ] * 2
