"""Checkpoints of some families pruned on a text that repeats itself."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import MarianConfig, MarianMTModel, OPTConfig, OPTForCausalLM

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.core.seeds import generator
from bottomup.corpus.batches import in_order
from bottomup.figures import quality_against_heads
from bottomup.heads.checkpoints import judging
from bottomup.heads.checkpoints.judging import right_token
from bottomup.heads.checkpoints.predictor import CheckpointPredictor
from bottomup.heads.checkpoints.projections import what_reads_heads
from bottomup.heads.predictor import closed, require_prunable
from bottomup.heads.pruning import Pruner, Settings, prune
from bottomup.objectives import IGNORE, Example
from bottomup.training.stopping import listening
from tests.heads.test_checkpoint_predictor import DECODER, OBJECTIVES, scale
from tests.subjects import families
from tests.subjects.families import BART, FAMILIES, HEADS, LAYERS, VOCAB, WIDTH
from tests.tiny import noise
from tests.training.test_loop import stop_before

pytestmark = pytest.mark.long


def opened(folder):
    return CheckpointPredictor(folder, subjects.load(folder))


PRUNED = {"bert": "encoder", "gpt2": "encoder", "marian": "all"}
TRAINING = {
    "batch_tokens": 60,
    "max_tokens": 3000,
    "warmup_steps": 5,
    "learning_rate": 0.016,
    "schedule": "inverse_sqrt",
    "optimizer": "adam",
    "evaluate_every_steps": 10,
    "patience": 3,
    "dev_seed": 1,
    "precision": "float32",
}
GATES = {"learning_rate": 0.1, "initial_log_alpha": 2.0}
SOME = 0.07  # a penalty at which some heads go and some stay, with old and new PyTorch
SCORING = {"seed": 1, "translation": None, "choose": None}
# A word tells the next one, and, shifted by one, its translation.
SENTENCES = [" ".join(f"w{5 + (start + i) % 6}" for i in range(6)) for start in range(6)]
TRANSLATED = [sentence.replace("w5", "w12") for sentence in SENTENCES]


def run_of(name):
    """A checkpoint, as programs know it."""
    return {"objective": name, "seed": 0, "module": None, "options": {}}


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    monkeypatch.setenv("BOTTOMUP_DEVICE", "cpu")


@pytest.fixture(params=PRUNED)
def name(request):
    return request.param


@pytest.fixture
def start(name, tmp_path):
    return families.save(FAMILIES[name], tmp_path / "start")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "text.parquet"
    pd.DataFrame({"source": SENTENCES * 4, "target": TRANSLATED * 4}).to_parquet(path)
    return path


@pytest.fixture
def pruned(name, start, file, tmp_path):
    """Prune, to a folder: its table of gates and its metrics."""

    def run(folder="pruned", penalty=0.0, attention=PRUNED[name], **training):
        settings = Settings(
            **run_of(name),
            pruned={"attention": attention, "method": "gates", "penalty": penalty},
            training=TRAINING | training,
            gates=GATES,
        )
        folder = tmp_path / folder
        folder.mkdir(exist_ok=True)
        table = folder / "gates.csv"
        prune(settings, {}, [file], [file], start, None, folder, table, 1, folder / "trained")
        lines = (folder / "metrics.jsonl").read_text().splitlines()
        return pd.read_csv(table), [json.loads(line) for line in lines]

    return run


def splits(file):
    """The same text as both splits, for the program."""
    train, dev = (
        Path(shutil.copy(file, file.with_name(f"{name}.parquet"))) for name in ("train", "dev")
    )
    return "--text", train, "--dev", dev


def last(gates):
    return gates[gates["step"] == gates["step"].max()]


OF_OPT = {
    **{"hidden_size": WIDTH, "word_embed_proj_dim": WIDTH, "ffn_dim": 16, "vocab_size": VOCAB},
    **{"num_hidden_layers": LAYERS, "num_attention_heads": HEADS},
}


@pytest.mark.parametrize(
    "model",
    [
        OPTForCausalLM(OPTConfig(**OF_OPT, dropout=0.0, layerdrop=1.0)),
        MarianMTModel(
            MarianConfig(**BART, dropout=0.0, encoder_layerdrop=1.0, decoder_layerdrop=1.0)
        ),
    ],
    ids=["opt", "marian"],
)
def test_no_layer_is_dropped_while_gates_are_learned(model, tmp_path):
    """Or a layer's gates would scale the heads of a later one. Nothing else is random here, so
    training has the loss of evaluation."""
    noise(model).save_pretrained(tmp_path)
    families.save_tokenizer(tmp_path, ("pad",))
    predictor = opened(tmp_path)
    ids = np.array([[3, 4, 5, 6, 7]])
    example = Example(ids, ids, ids, np.array([5]))
    if not predictor.subject.translates:
        example = Example(ids, None, ids, np.array([5]))
    expected, _ = predictor.losses(example)
    assert predictor.learner(encoder_alone=False).train().model.training
    found, _ = predictor.losses(example)
    torch.testing.assert_close(found, expected)


def test_without_a_penalty_the_loss_falls_and_heads_stay(pruned):
    gates, metrics = pruned()
    assert metrics[-1]["train_loss_nats"] < 0.8 * metrics[0]["train_loss_nats"]
    assert metrics[-1]["dev_loss_nats"] < 0.9 * metrics[0]["dev_loss_nats"]
    assert last(gates)["kept"].all()


def test_in_bfloat16_the_loss_falls_as_well(pruned):
    _, metrics = pruned(precision="bfloat16")
    assert metrics[-1]["train_loss_nats"] < 0.8 * metrics[0]["train_loss_nats"]


def test_a_high_penalty_closes_every_head(pruned):
    gates, metrics = pruned(penalty=100.0)
    assert last(gates)["kept"].tolist() == [False] * len(last(gates))
    # What is added to the loss is the penalty for heads that are nearly all open at first.
    assert metrics[0]["train_loss_nats"] > 100


def test_a_row_for_each_head_that_may_go(name, pruned):
    gates, metrics = pruned()
    kinds = ["encoder", "decoder", "cross"] if name == "marian" else ["encoder"]
    rows = [(k, n, h) for k in kinds for n in range(1, LAYERS + 1) for h in range(1, HEADS + 1)]
    for step, found in gates.groupby("step"):
        assert [*found[["kind", "layer", "head"]].itertuples(index=False, name=None)] == rows
        assert step in [line["step"] for line in metrics]
    assert set(gates["kept"]) <= {True, False}
    assert set(gates["objective"]) == {name} and set(gates["method"]) == {"gates"}


def test_the_model_is_without_the_heads_that_closed(name, start, pruned, file, tmp_path):
    """Its loss is that of its own weights with the columns of open heads alone, and no other
    column is 0."""
    gates, metrics = pruned(penalty=SOME)
    gone = closed(gates)
    assert 0 < len(gone) < len(last(gates))
    family, folder = FAMILIES[name], tmp_path / "pruned" / "model"
    model = family.trained.from_pretrained(folder)
    for kind, layer, head in last(gates)[["kind", "layer", "head"]].itertuples(index=False):
        path = DECODER.get(kind, family.projection).format(layer - 1)
        projection = model.base_model.get_submodule(path)
        weight = projection.weight if path.endswith("c_proj") else projection.weight.mT
        width = WIDTH // HEADS
        columns = weight[(head - 1) * width : head * width]
        assert (columns == 0).all() if (kind, layer, head) in gone else (columns != 0).all()
    # The dev loss, which training measured through gates of 0 and 1, is the model's own.
    predictor = opened(folder)
    text, total, count = predictor.text([file]), 0.0, 0
    for index, sentences in enumerate(in_order(text, 60)):
        example = predictor.example(text, sentences, generator(1, "dev", index))
        losses, predicted = predictor.losses(example)
        total, count = total + losses.sum().item(), count + predicted.sum().item()
    assert metrics[-1]["dev_loss_nats"] == pytest.approx(total / count, rel=1e-5)


@pytest.mark.parametrize("family", OBJECTIVES)
def test_a_projection_is_found_by_what_reaches_it(family, tmp_path):
    """Without what reads a head the model is the one without the head's columns, set by hand."""
    folder = families.save(FAMILIES[family], tmp_path)
    predictor = opened(folder)
    for (kind, layer, head), (weight, rows) in what_reads_heads(predictor).items():
        before = weight.clone()
        weight[rows] = 0.0
        expected = FAMILIES[family].trained.from_pretrained(folder)
        scale(expected, FAMILIES[family], kind, layer - 1, head - 1, 0)
        found = dict(predictor.model.named_parameters())
        for key, parameter in expected.named_parameters():
            torch.testing.assert_close(found[key], parameter, rtol=0, atol=0)
        weight.copy_(before)


@pytest.mark.parametrize("name", ["gpt2", "marian"], indirect=True)
def test_quality_is_the_probability_of_the_right_token(name, start, file):
    """Of what draws no masks, against the loss that transformers computes; and without each
    block."""
    predictor = opened(start)
    text, blocks = predictor.text([file]), np.arange(24) % 3
    score = right_token(predictor, text, blocks, seed=1)
    found = [score.value, *score.without]
    model = FAMILIES[name].trained.from_pretrained(start).double().eval()
    sums = []
    for sentence in range(24):
        source = torch.from_numpy(text.source.sentence(sentence).astype(int))[None]
        labels = source
        if text.target is not None:
            labels = torch.from_numpy(text.target.sentence(sentence).astype(int))[None]
        with torch.no_grad():
            loss = model(input_ids=source, labels=labels).loss.item()
        count = labels.shape[1] - (name == "gpt2")
        sums.append((loss * count, count))
    sums = np.array(sums)
    kept = [np.ones(24, bool), *(blocks != block for block in range(3))]
    expected = [np.exp(-sums[rows, 0].sum() / sums[rows, 1].sum()) for rows in kept]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["bert"])
def test_quality_of_a_masked_model_is_of_the_masked_tokens(name, start, file):
    """With an output layer that finds all tokens alike it is one over their number."""
    predictor = opened(start)
    with torch.no_grad():
        predictor.model.cls.predictions.transform.LayerNorm.weight.zero_()
        predictor.model.cls.predictions.transform.LayerNorm.bias.zero_()
        predictor.model.cls.predictions.bias.zero_()
    score = right_token(predictor, predictor.text([file]), np.arange(24) % 2, seed=1)
    found = [score.value, *score.without]
    np.testing.assert_allclose(found, 1 / families.VOCAB, rtol=1e-6)


@pytest.mark.parametrize("name", ["bert"])
def test_masks_of_quality_are_drawn_anew_in_each_batch_and_by_the_seed(name, start, tmp_path):
    pairs = pd.DataFrame({"source": ["w5 w6 w7 w8 w9 w10 w11 w12"] * 12})
    pairs.to_parquet(tmp_path / "same.parquet")
    predictor = opened(start)
    text = predictor.text([tmp_path / "same.parquet"])
    masks, losses = [], predictor.losses

    def noting(example):
        masks[-1].append(example.labels.tobytes())
        return losses(example)

    predictor.losses = noting
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "BATCH_TOKENS", 40)
        for seed in (1, 1, 2):
            masks.append([])
            right_token(predictor, text, np.arange(12) % 2, seed)
    assert masks[0] == masks[1] and not {*masks[0]} <= {*masks[2]}
    assert len({*masks[0]}) == len(masks[0]) > 2


def test_padding_is_neither_read_nor_predicted(name, start, tmp_path):
    """A sentence has the loss that it has alone."""
    pairs = pd.DataFrame({"source": ["w5 w6 w7 w8", "w9 w5"], "target": ["w5 w6", "w7 w8 w9"]})
    pairs.to_parquet(tmp_path / "two.parquet")
    predictor = opened(start)
    text = predictor.text([tmp_path / "two.parquet"])
    assert text.source.ids.tolist() == [5, 6, 7, 8, 9, 5]
    both = predictor.example(text, np.array([0, 1]), generator(1))
    assert (both.source[1, 2:] == predictor.subject.padding).all()
    short = both.labels[0, 2:] if name == "marian" else both.labels[1, 2:]
    assert len(short) and (short == IGNORE).all()
    losses, counts = predictor.losses(both)
    if name == "marian":
        alone = Example(both.source[1:, :2], both.target[1:], both.labels[1:])
    else:
        alone = Example(both.source[1:, :2], None, both.labels[1:, :2])
    loss, count = predictor.losses(alone)
    torch.testing.assert_close(loss[0], losses[1], rtol=1e-5, atol=1e-6)
    assert count[0] == counts[1]


def test_the_same_twice_and_after_a_stop(name, pruned, monkeypatch, signal_in_call, tmp_path):
    pruned("whole", penalty=0.5, max_tokens=1500)
    pruned("again", penalty=0.5, max_tokens=1500)
    train = Pruner.train
    with monkeypatch.context() as patch:

        def stopping(self):
            patch.setattr(Pruner, "train", train)
            stop_before(self, 15)
            raise KeyboardInterrupt

        patch.setattr(Pruner, "train", stopping)
        with pytest.raises(KeyboardInterrupt):
            pruned("stopped", penalty=0.5, max_tokens=1500)
    assert (tmp_path / "stopped" / "checkpoint" / "state.json").exists()
    signal_in_call(Pruner, "update", 15)
    with pytest.raises(SystemExit), listening():
        pruned("signaled", penalty=0.5, max_tokens=1500)
    state = json.loads((tmp_path / "signaled" / "checkpoint" / "state.json").read_text())
    assert state["state"]["progress"]["step"] == 15
    pruned("stopped", penalty=0.5, max_tokens=1500)
    pruned("signaled", penalty=0.5, max_tokens=1500)
    for file in ("model/model.safetensors", "metrics.jsonl", "gates.csv"):
        [whole, *others] = [
            (tmp_path / folder / file).read_bytes()
            for folder in ("whole", "again", "stopped", "signaled")
        ]
        assert others == [whole] * 3
    assert not (tmp_path / "stopped" / "checkpoint").exists()


@pytest.mark.parametrize("name", ["marian"])
def test_pruning_the_encoder_leaves_the_decoder(name, start, pruned, tmp_path):
    gates, _ = pruned(attention="encoder", penalty=0.5)
    assert set(gates["kind"]) == {"encoder"}
    before, after = (
        dict(FAMILIES[name].trained.from_pretrained(folder).named_parameters())
        for folder in (start, tmp_path / "pruned" / "model")
    )
    moved = {key for key in before if not torch.equal(before[key], after[key])}
    assert moved and all(key.startswith("model.encoder.layers") for key in moved)


@pytest.mark.parametrize("name", ["electra", "t5", "bart"])
def test_without_an_objective_of_its_own_it_is_not_pruned(name, start, file):
    predictor = opened(start)
    with pytest.raises(UserError, match=f"^{name} cannot be pruned: .*pruning.penalties.{name}, "):
        require_prunable(predictor, predictor.text([file]), name, "encoder")


@pytest.mark.parametrize("name", ["marian"])
def test_a_translator_needs_a_target(start, tmp_path):
    predictor = opened(start)
    pd.DataFrame({"source": SENTENCES}).to_parquet(tmp_path / "alone.parquet")
    text = predictor.text([tmp_path / "alone.parquet"])
    with pytest.raises(UserError, match="marian translates, but the study's text has no target"):
        require_prunable(predictor, text, "marian", "encoder")


@pytest.mark.parametrize("name", ["gpt2"])
def test_heads_that_it_has_not_cannot_go(name, start, file):
    predictor = opened(start)
    line = "^pruning.penalties.gpt2.all: gpt2 has no such heads .*; allowed: encoder$"
    with pytest.raises(UserError, match=line):
        require_prunable(predictor, predictor.text([file]), name, "all")


@pytest.mark.parametrize("name", ["gpt2"])
def test_a_signal_stops_the_program(name, start, file, tmp_path, run_script, signal_in_call):
    pruned = {"attention": "encoder", "method": "gates", "penalty": SOME}
    signal_in_call(Pruner, "update", 2)
    with pytest.raises(SystemExit) as left:
        run_script(
            "prune_heads",
            run_of(name) | {"pruned": pruned, "training": TRAINING, "gates": GATES},
            *("--model", start, *splits(file), "--folder", tmp_path),
            *("--gates", tmp_path / "found.csv", "--trained", tmp_path / "kept"),
        )
    assert left.value.code == os.EX_TEMPFAIL


@pytest.mark.on_a_gpu("prune_heads checkpoints", "measure pruning checkpoints")
def test_programs_prune_and_measure(name, start, file, tmp_path, measure, run_script):
    """The rows of a checkpoint as it is and with fewer heads, as the figure draws them."""
    np.save(tmp_path / "blocks.npy", np.arange(24) % 3)
    run, folder, gates = run_of(name), tmp_path / "pruned", tmp_path / "found.csv"
    attention, rows = PRUNED[name], []
    pruned = {"attention": attention, "method": "gates", "penalty": SOME}
    run_script(
        "prune_heads",
        run | {"pruned": pruned, "training": TRAINING, "gates": GATES, "code": {}},
        *("--model", start, *splits(file), "--folder", folder),
        *("--gates", gates, "--trained", tmp_path / "kept"),
    )
    for method, model in (("none", start), ("gates", folder / "model")):
        if method == "none":
            pruned_as, left = pruned | {"method": "none", "penalty": None}, {}
        else:
            pruned_as, left = pruned, {"metrics": folder / "metrics.jsonl", "gates": gates}
        measure(
            "pruning",
            {name: run[name] for name in ("objective", "seed")} | pruned_as,
            {"run": run, "pruned": pruned_as, "scoring": SCORING},
            model=model,
            text=file,
            blocks=tmp_path / "blocks.npy",
            table=tmp_path / f"{method}.csv",
            **left,
        )
        rows.append(pd.read_csv(tmp_path / f"{method}.csv"))
        predictor = opened(model)
        found = right_token(predictor, predictor.text([file]), np.arange(24) % 3, 1)
        estimates = pd.read_parquet(tmp_path / f"{method}.parquet")
        assert estimates["quality"].tolist() == [found.value]
        assert estimates["without"][0].tolist() == found.without.tolist()
        assert estimates["n"].tolist() == [found.n]
    whole, fewer = (row.iloc[0] for row in rows)
    kept = last(pd.read_csv(gates)).query("kept").groupby("kind").size().to_dict()
    for kind in ("encoder", "decoder", "cross"):
        there = kind == "encoder" or name == "marian"
        assert whole[f"heads_{kind}"] == (LAYERS * HEADS if there else 0)
        assert fewer[f"heads_{kind}"] == kept.get(kind, 0)
    assert 0 < sum(kept.values()) < whole[["heads_encoder", "heads_decoder", "heads_cross"]].sum()
    assert np.isnan(whole["penalty"]) and np.isnan(whole["dev_loss_nats"])
    layers = LAYERS * (3 if name == "marian" else 1)
    assert fewer["penalty_of_sum"] == pytest.approx(SOME / layers)
    dev_loss = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])["dev_loss_nats"]
    assert fewer["dev_loss_nats"] == pytest.approx(dev_loss)
    assert fewer["test_loss_nats"] == pytest.approx(-np.log(fewer["quality"]))
    assert fewer["quality"] > whole["quality"]  # it was trained on this text, and whole was not
    _, drawn = quality_against_heads.draw({"pruning": pd.concat(rows)})
    ours = drawn[drawn["source"] == "ours"].set_index("series")
    assert ours.loc["gates", "x"] == sum(kept.values())
    expected = fewer["test_loss_nats"] - whole["test_loss_nats"]
    assert ours.loc["gates", "y"] == pytest.approx(expected)
