"""The programs of heads, as the rules call them."""

import json
import logging
import math
import os
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer

from bottomup import objectives, subjects
from bottomup.corpus import encoding
from bottomup.corpus.batches import Text
from bottomup.corpus.frequencies import frequencies
from bottomup.corpus.tokens import TokenFile
from bottomup.heads import examples
from bottomup.heads.confidence import head_attention
from bottomup.heads.importance import gate_gradient
from bottomup.heads.relevance import head_relevance
from bottomup.heads.runs.importances import translations
from bottomup.heads.runs.predictor import RunPredictor
from bottomup.model import folder as model_folder
from bottomup.training import run
from bottomup.training.loop import Trainer
from tests import tiny
from tests.subjects.families import FAMILIES, HIDDEN, save
from tests.training.test_run import TRAINING, settings_of

RUN = {name: settings_of("mt")[name] for name in ("objective", "seed", "module", "options")}
BEAM = {"beam_size": 2, "length_penalty": 0.6}
CLOSE = {"rtol": 3e-4, "atol": 1e-7}  # the program may be on a GPU, what is expected is not
PRUNING = TRAINING | {"max_tokens": 400}
GATES = {"learning_rate": 1.0, "initial_log_alpha": 1.0}
THRESHOLDS = {"positional": 0.9, "syntactic": 0.1, "pairs": 1, "rare": 0.5, "rare_rank": 0}
KINDS = {"encoder", "decoder", "cross"}
PLACE = ["kind", "layer", "head"]


@pytest.fixture(scope="module")
def trained(corpus_files, tmp_path_factory):
    """A run of MT, and the importance of its heads."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOTTOMUP_DEVICE", "cpu")
        run.train(
            run.Settings(**settings_of("mt", max_tokens=800)),
            {},
            corpus_files.tokens,
            corpus_files.tokenizers("mt"),
            folder,
            accumulate=1,
            trained=folder / "kept",
        )
    return folder


SAMPLE = {"sentences": 6, "seed": 1}


def tokens_of(corpus_files, split):
    """The token files of a split, as a rule hands them to a program."""
    folders = sorted(corpus_files.tokens.glob(f"{split}.*"))
    return [folder / f"{array}.npy" for folder in folders for array in ("ids", "offsets", "words")]


def splits(corpus_files):
    """The text that a model is pruned on, as a rule hands it to the program."""
    text, dev = (tokens_of(corpus_files, split) for split in ("train", "dev"))
    return "--text", *text, "--dev", *dev


def pruning(method="gates", attention="all", **training):
    """The settings of a pruning."""
    pruned = {"attention": attention, "method": method, "penalty": 30.0}
    gates = {"gates": GATES} if method == "gates" else {}
    return RUN | gates | {"pruned": pruned, "training": PRUNING | training, "code": {}}


@pytest.fixture
def measure_importance(measure, corpus_files, tmp_path):
    """The importance of the heads in a folder, of a run of ours; its table."""

    def measure_importance(model, blocks=None, run=RUN, beam=BEAM):
        measure(
            "head_importance",
            {name: run[name] for name in ("objective", "seed")},
            SAMPLE | {"run": run, "beam": beam},
            model=model,
            text=tokens_of(corpus_files, "dev"),
            blocks=blocks or corpus_files.blocks("dev"),
            table=tmp_path / "importance.csv",
        )
        return tmp_path / "importance.csv"

    return measure_importance


@pytest.fixture
def importance(trained, measure_importance):
    return measure_importance(trained / "model")


@pytest.fixture
def prune(trained, corpus_files, run_script, tmp_path):
    def prune(settings, name, *chosen_by):
        run_script(
            "prune_heads",
            settings,
            *("--model", trained / "model", *splits(corpus_files)),
            *(["--chosen-by", *chosen_by] if chosen_by else []),
            *("--folder", tmp_path / name, "--gates", tmp_path / f"{name}.csv"),
            *("--trained", tmp_path / f"{name}.kept"),
        )
        return tmp_path / name, pd.read_csv(tmp_path / f"{name}.csv")

    return prune


@pytest.mark.on_a_gpu("measure head_importance runs")
def test_importance_of_each_head_and_kind(importance):
    table = pd.read_csv(importance)
    assert set(table["attention"]) == KINDS
    importances = ["confidence", "special", "relevance_alpha_beta", "relevance_ratio"]
    importances += ["gradient", "loss_increase"]
    assert table.groupby("importance").size().to_dict() == dict.fromkeys(importances, 12)
    found = table.dropna(subset="value")
    # So short a training may make every translation empty, and decoders have no tokens then.
    attended = table["importance"].isin(["confidence", "special"])
    assert (table["value"].isna() <= attended).all()
    assert (found["ci_low"] <= found["value"]).all() and (found["value"] <= found["ci_high"]).all()
    shares = table[table["importance"].str.startswith("relevance")]
    sums = shares.groupby(["importance", "attention", "layer"])["value"].sum()
    assert sums.tolist() == pytest.approx([1.0] * len(sums))


def test_without_a_block_sentences_of_the_others_count(importance):
    """Three blocks of the dev split, of which one holds none of the six sentences."""
    table = pd.read_parquet(importance.with_suffix(".parquet"))
    assert table["without"].map(len).eq(3).all()
    shares = table[table["importance"].str.startswith("relevance")]
    sums = shares.groupby(["importance", "attention", "layer"])["without"].sum()
    np.testing.assert_allclose(np.stack(sums), 1)


def test_a_block_of_which_no_sentence_is_drawn_is_one_that_nothing_is_without(
    trained, corpus_files, measure_importance, tmp_path
):
    """Also if it is the last one."""
    dev = Text.load(corpus_files.tokens, "dev", objectives.load("mt", {}).predicts)
    blocks = np.full(len(dev.source), 3, dtype=np.int8)
    blocks[examples.sample(dev, SAMPLE["sentences"], SAMPLE["seed"])] = [0, 1, 2, 0, 1, 2]
    np.save(tmp_path / "blocks.npy", blocks)
    measure_importance(trained / "model", tmp_path / "blocks.npy")
    table = pd.read_parquet(tmp_path / "importance.parquet").dropna(subset="value")
    without = np.stack(table["without"])
    assert without.shape[1] == 4
    np.testing.assert_allclose(without[:, 3], table["value"])


def test_each_importance_is_of_the_text_rule_and_blocks_that_it_names(
    measure_importance, corpus_files, tmp_path
):
    """By a model whose own translations are not the references, and unequal blocks."""
    sizes = [
        Tokenizer.from_file(str(corpus_files.tokenizer(side))) for side in ("source", "target")
    ]
    model = tiny.noise(tiny.initial("mt", vocab=sizes[0].get_vocab_size()), scale=0.5).eval()
    assert sizes[0].get_vocab_size() == sizes[1].get_vocab_size()
    run.save(model, corpus_files.tokenizers("mt"), tmp_path / "model")
    measure_importance(tmp_path / "model")
    table = pd.read_parquet(tmp_path / "importance.parquet")
    objective = objectives.load("mt", RUN["options"])
    dev = Text.load(corpus_files.tokens, "dev", objective.predicts)
    some = examples.sample(dev, 6, 1)
    text, blocks = dev.select(some), np.load(corpus_files.blocks("dev"))[some]
    predictor = RunPredictor(model, objective)
    own, references = translations(model, text, **BEAM), examples.references(predictor, text, 1)
    expected = {
        name: head_relevance(model, own, rule)
        for name, rule in (("relevance_alpha_beta", "alpha_beta"), ("relevance_ratio", "ratio"))
    }
    expected |= head_attention(model, own)
    expected["gradient"] = gate_gradient(predictor, references)
    others = head_attention(model, references) | {
        "relevance_alpha_beta": head_relevance(model, references, "alpha_beta"),
        "relevance_ratio": expected["relevance_alpha_beta"],
    }
    place = ["attention", "layer", "head"]
    for name, totals in expected.items():
        found = table[table["importance"] == name].set_index(place)
        right = pd.DataFrame(totals.rows(name, blocks, 3)).set_index(place)
        np.testing.assert_allclose(found["value"], right["value"], **CLOSE)
        without = [np.stack(frame["without"]) for frame in (found, right)]
        np.testing.assert_allclose(*without, **CLOSE)
        if name in others:
            wrong = pd.DataFrame(others[name].rows(name, blocks, 3)).set_index(place)
            assert not np.allclose(found["value"], wrong["value"], rtol=1e-3)
    # Nor are they those of the blocks in another order.
    assert not np.array_equal(blocks, blocks[::-1])


def test_importance_is_of_the_text_without_token_dropout(
    corpus_files, measure_importance, tmp_path
):
    """That of training, as a schedule may end with."""
    model = tiny.drawn("lm", vocab=corpus_files.vocab)
    run.save(model, {"source": corpus_files.tokenizer("source")}, tmp_path / "model")
    found = []
    for module, options in (("lm", {}), ("lm_noise", {"replace": 0.9})):
        of = {"objective": "lm", "module": module, "seed": 1, "options": options}
        found.append(pd.read_csv(measure_importance(tmp_path / "model", run=of, beam=None)))
    pd.testing.assert_frame_equal(*found)


@pytest.mark.parametrize("objective", ["untrained", "untrained_causal"])
def test_of_a_model_that_predicts_nothing_is_known_what_it_attends_to(
    objective, corpus_files, measure_importance, tmp_path
):
    model = tiny.initial(objective, vocab=corpus_files.vocab)
    run.save(model, {"source": corpus_files.tokenizer("source")}, tmp_path / "model")
    run_of = {"objective": objective, "module": objective, "seed": 1, "options": {}}
    table = pd.read_csv(measure_importance(tmp_path / "model", run=run_of, beam=None))
    assert set(table["importance"]) == {"confidence", "special"}
    assert set(table["attention"]) == {"encoder"}
    assert len(table) == 8 and table["value"].between(0, 1).all()


@pytest.fixture
def measure_checkpoint(measure, tmp_path):
    """Measure the heads of a checkpoint of a family: its folder, and both tables.

    All words of the test split are said to be the subject of their sentence's first.
    """
    texts = ["w3 w4 w5 w6", "w6 w7,w8", "w9 w9 w3"]
    tokenizer = tiny.written(tmp_path, texts)
    (tmp_path / "words").mkdir()
    files = {name: tmp_path / f"words/{name}.npy" for name in ("ids", "words", "offsets")}
    encoding.encode(tokenizer, [texts], **files)
    words = TokenFile.load(tmp_path / "words")
    vocabulary = tokenizer.get_vocab()
    frequencies(words.ids, vocabulary).to_csv(tmp_path / "frequencies.csv", index=False)
    counts = words.lengths - 1  # without </s>
    assert counts.tolist() == [4, 4, 3]
    place = np.concatenate([np.arange(count) for count in counts])
    annotation = {"sentence": np.repeat(range(3), counts), "word": place, "head": 0}
    pd.DataFrame(annotation | {"relation": "nsubj"}).to_parquet(tmp_path / "annotation.parquet")
    np.save(tmp_path / "blocks.npy", np.array([0, 1, 2], dtype=np.int8))
    dev = pd.DataFrame({"source": ["w3 w4 w5 w6 w7 w8"] * 9, "target": ["w8 w7 w6"] * 9})
    dev.to_parquet(tmp_path / "dev.parquet")
    np.save(tmp_path / "dev_blocks.npy", np.arange(9, dtype=np.int8) % 3)
    tables = [tmp_path / "importance.csv", tmp_path / "functions.csv"]

    def of_family(family):
        folder, run = save(FAMILIES[family], tmp_path / "model"), {"objective": family, "seed": 0}
        measure(
            "head_importance",
            run,
            SAMPLE | {"run": run | {"module": None, "options": {}}, "beam": None},
            model=folder,
            text=tmp_path / "dev.parquet",
            blocks=tmp_path / "dev_blocks.npy",
            table=tables[0],
        )
        measure(
            "head_functions",
            run,
            THRESHOLDS,
            model=folder,
            text=tmp_path / "words",
            blocks=tmp_path / "blocks.npy",
            frequencies=tmp_path / "frequencies.csv",
            written=[tmp_path / "test.parquet", tmp_path / "words.json"],
            annotation=tmp_path / "annotation.parquet",
            table=tables[1],
            batch_tokens=40,
        )
        return folder, *map(pd.read_csv, tables)

    return of_family


def test_a_checkpoint_that_hides_its_attention_has_no_rows_and_a_line(
    measure_checkpoint, monkeypatch, caplog
):
    """Its tables have the columns of any, so that a study of such models alone has tables, too."""
    _, *usual = measure_checkpoint("gpt2")
    assert "left out" not in caplog.text
    monkeypatch.setitem(FAMILIES, "hidden", HIDDEN)
    with caplog.at_level(logging.INFO):
        _, *found = measure_checkpoint("hidden")
    for table, with_rows in zip(found, usual, strict=True):
        assert table.empty and list(table) == list(with_rows)
    line = "left out: bloom has no attention that can be looked at"
    assert [line in message for message in caplog.messages].count(True) == 2


def test_heads_of_a_checkpoint(measure_checkpoint):
    """It reads words as they are, but cannot tell a comma from what it stands at."""
    folder, importance, functions = measure_checkpoint("bert")
    names = ["confidence", "special", "gradient", "loss_increase"]
    assert importance.groupby("importance").size().to_dict() == dict.fromkeys(names, 4)
    assert importance["value"].notna().all() and (importance["attention"] == "encoder").all()
    confidence = importance.set_index(["importance", "layer", "head"])["value"]["confidence"]
    # Of the sentences of the dev split, which are all the same.
    expected = largest_weights(subjects.load(folder), ["w3 w4 w5 w6 w7 w8"])
    np.testing.assert_allclose(confidence, expected, rtol=1e-4)
    n = functions.groupby("function")["n"].unique()
    # The second sentence has three that are not read: the comma and what stands around it are one
    # token.
    assert n["nsubj_to_head"].tolist() == [8] and n["amod_to_head"].tolist() == [0]
    assert (functions["objective"] == "bert").all() and (functions["seed"] == 0).all()


@pytest.mark.on_a_gpu("measure head_importance checkpoints")
def test_of_a_translating_checkpoint_all_kinds_of_heads_have_a_loss(measure_checkpoint):
    _, importance, _ = measure_checkpoint("marian")
    by_kind = importance.groupby("importance")["attention"].agg(set)
    assert by_kind["gradient"] == by_kind["loss_increase"] == KINDS
    assert by_kind["confidence"] == {"encoder"}
    assert len(importance) == 2 * 4 + 2 * 12


def test_confidence_is_of_the_blocks_of_the_sentences_that_it_was_read_in(measure, tmp_path):
    """Also where a longer target goes with a shorter source, so that the encoder reads them in
    another order."""
    folder = save(FAMILIES["marian"], tmp_path / "model")
    sources, run = ["w3 w4 w5 w6 w7", "w8 w9 w10"], {"objective": "marian", "seed": 0}
    pairs = pd.DataFrame({"source": sources, "target": ["w8 w7", "w6 w5 w4 w3 w8 w7"]})
    pairs.to_parquet(tmp_path / "dev.parquet")
    np.save(tmp_path / "blocks.npy", np.array([0, 1], dtype=np.int8))
    measure(
        "head_importance",
        run,
        SAMPLE | {"run": run | {"module": None, "options": {}}, "beam": None},
        model=folder,
        text=tmp_path / "dev.parquet",
        blocks=tmp_path / "blocks.npy",
        table=tmp_path / "importance.csv",
    )
    table = pd.read_parquet(tmp_path / "importance.parquet")
    without = np.stack(table[table["importance"] == "confidence"]["without"])
    subject = subjects.load(folder)
    for block, others in enumerate((sources[1:], sources[:1])):
        np.testing.assert_allclose(without[:, block], largest_weights(subject, others), rtol=1e-4)


def test_a_checkpoint_without_an_objective_says_so_in_a_line(measure_checkpoint, caplog):
    caplog.set_level("INFO")
    _, importance, _ = measure_checkpoint("electra")
    assert set(importance["importance"]) == {"confidence", "special"}
    lines = [line for line in caplog.messages if "no gradient" in line]
    assert len(lines) == 1 and "predicts neither masked tokens" in lines[0]


def largest_weights(subject, texts):
    """The mean over tokens, by layer and head."""
    found = []
    for text in texts:
        ids = torch.tensor([subject.tokenizer.encode(text).ids])
        weights = torch.stack(subject.attentions(ids))[:, 0]
        found.append(weights.amax(dim=-1))
    return torch.cat(found, dim=-1).mean(dim=-1).flatten()


def test_heads_have_a_row_for_each_function(importance, run_script, tmp_path):
    head = {"objective": "mt", "seed": 1, "attention": "encoder", "layer": 1, "head": 2}
    functions = [("positional", 0.95, None, True), ("rarest", 0.6, 0.2, True)]
    functions += [("dobj_to_head", 0.5, 0.49, False)]
    columns = ["function", "accuracy", "baseline_accuracy", "held"]
    rows = [head | dict(zip(columns, values, strict=True)) for values in functions]
    pd.DataFrame(rows).to_csv(tmp_path / "functions.csv", index=False)
    measured = pd.read_csv(importance)
    untrained = measured.query("importance == 'confidence' and attention == 'encoder'")
    both = pd.concat([measured, untrained.assign(objective="untrained")])
    both.to_csv(tmp_path / "both.csv", index=False)
    run_script(
        "collect_heads",
        {},
        *("--importance", tmp_path / "both.csv", "--functions", tmp_path / "functions.csv"),
        *("--table", tmp_path / "heads.csv"),
    )
    heads = pd.read_csv(tmp_path / "heads.csv")
    assert len(heads) == 12 + 1 + 4
    alone = heads[heads["objective"] == "untrained"]
    assert alone["confidence"].tolist() == untrained["value"].tolist()
    assert alone[["relevance", "gradient", "loss_increase", "function"]].isna().all(axis=None)
    assert heads["function"].dropna().tolist() == ["positional", "rarest"]
    assert heads["function_accuracy"].dropna().tolist() == [0.95, 0.6]
    relevance = measured.query("importance == 'relevance_alpha_beta'")["value"]
    assert set(heads["relevance"].dropna()) == set(relevance)


def test_gates_then_as_many_at_random(prune, importance):
    """Gates so eager are all closed at the end; two of them are opened here by hand."""
    folder, gates = prune(pruning(), "gates")
    steps = [json.loads(line)["step"] for line in (folder / "metrics.jsonl").open()]
    assert sorted(set(gates["step"])) == steps and len(gates) == 12 * len(steps)
    assert set(gates["kind"]) == KINDS and set(gates["method"]) == {"gates"}
    assert not gates[gates["step"] == steps[-1]]["kept"].any()

    last = gates["step"] == steps[-1]
    gates.loc[gates[last].index[:2], "kept"] = True
    gates.to_csv(folder / "found.csv", index=False)
    opened = {*gates[last][PLACE][:2].itertuples(index=False, name=None)}
    ours = pd.read_csv(importance).rename(columns={"attention": "kind"})
    ours = ours[ours["importance"] == "relevance_alpha_beta"].sort_values(PLACE)
    largest = ours.sort_values("value", ascending=False, kind="stable")[PLACE][:2]
    relevant = {*largest.itertuples(index=False, name=None)}
    for method in ("random", "relevance", "scratch"):
        other, kept = prune(pruning(method), method, folder / "found.csv", importance)
        assert kept["kept"].sum() == 2 and set(kept["method"]) == {method}
        places = [*kept.loc[kept["kept"], PLACE].itertuples(index=False, name=None)]
        found = {"scratch": opened, "relevance": relevant}.get(method)
        assert found is None or {*places} == found
        assert [*kept] == [*gates]  # which are parts of one table
        model = subjects.load(other / "model").model
        left = [int(m.gates.sum()) for layers in model.attentions().values() for m in layers]
        assert sum(left) == 2


def test_heads_at_random_follow_the_seed_the_attention_and_the_penalty(
    run_script, tmp_path, monkeypatch
):
    kept = []
    monkeypatch.setattr(
        "bottomup.heads.pruning.prune", lambda *given: kept.append(tuple(given[5]["kept"]))
    )
    places = [(kind, layer, head) for kind in KINDS for layer in (1, 2) for head in (1, 2)]
    gates = pd.DataFrame(sorted(places), columns=["kind", "layer", "head"])
    gates.assign(step=1, kept=[True, False] * 6).to_csv(tmp_path / "gates.csv", index=False)
    first = pruning("random")
    other_penalty = first | {"pruned": first["pruned"] | {"penalty": 0.5}}
    others = [first | {"seed": 2}, pruning("random", "encoder"), other_penalty]
    for settings in [first, first, *others]:
        run_script(
            "prune_heads",
            settings,
            *("--model", tmp_path, "--text", tmp_path, "--dev", tmp_path),
            *("--chosen-by", tmp_path / "gates.csv"),
            *("--folder", tmp_path, "--gates", tmp_path / "kept.csv", "--trained", tmp_path),
        )
    assert kept[0] == kept[1] and len(set(kept)) == 4 and {sum(each) for each in kept} == {6}


def test_a_signal_stops_pruning(prune, signal_in_call, tmp_path):
    signal_in_call(Trainer, "update", 2)
    with pytest.raises(SystemExit) as left:
        prune(pruning(), "stopped")
    assert left.value.code == os.EX_TEMPFAIL
    assert (tmp_path / "stopped" / "checkpoint" / "state.json").exists()


def test_only_from_scratch_is_what_training_found_forgotten(
    prune, trained, tmp_path, corpus_files, run_script
):
    """From weights that are all moved, scratch comes to the same ones, and fine-tuning does not."""
    _, gates = prune(pruning(), "found")
    moved = subjects.load(trained / "model")
    shutil.copytree(trained / "model", tmp_path / "moved")
    model_folder.save(tiny.noise(moved.model), tmp_path / "moved")
    gates.assign(kept=True).to_csv(tmp_path / "found.csv", index=False)
    same = {}
    for method in ("scratch", "random"):
        for name, start in (("usual", trained / "model"), ("other", tmp_path / "moved")):
            folder = tmp_path / method / name
            run_script(
                "prune_heads",
                pruning(method),
                *("--model", start, *splits(corpus_files)),
                *("--chosen-by", tmp_path / "found.csv"),
                *("--folder", folder, "--gates", tmp_path / "kept.csv"),
                *("--trained", tmp_path / "kept"),
            )
        models = [tmp_path / method / name / "model" for name in ("usual", "other")]
        usual, other = (subjects.load(model).model.state_dict() for model in models)
        same[method] = tiny.same_bytes(usual, other)
    assert same == {"scratch": True, "random": False}


def test_from_scratch_the_decoder_learns_too(prune, trained, tmp_path):
    """Also if only the encoder's heads may go; in fine-tuning it would take over their work."""
    _, gates = prune(pruning(attention="encoder"), "found")
    gates.assign(kept=True).to_csv(tmp_path / "found.csv", index=False)
    started = {
        "scratch": subjects.untrained(trained / "model", RUN["seed"]),
        "random": subjects.load(trained / "model"),
    }
    for method, start in started.items():
        folder, _ = prune(pruning(method, "encoder"), method, tmp_path / "found.csv")
        decoders = [s.model.decoder.state_dict() for s in (start, subjects.load(folder / "model"))]
        assert tiny.same_bytes(*decoders) == (method == "random")


@pytest.mark.on_a_gpu("prune_heads runs", "measure pruning runs")
def test_a_pruned_model_is_measured_as_the_smaller_one(
    prune, trained, corpus_files, measure, run_script, tmp_path
):
    folder, _ = prune(pruning(attention="encoder"), "encoder")
    before, after = (subjects.load(path / "model").model for path in (trained, folder))
    assert tiny.same_bytes(before.decoder.state_dict(), after.decoder.state_dict())
    assert not tiny.same_bytes(before.encoder.state_dict(), after.encoder.state_dict())
    beam = BEAM | {"sentences": 5, "language": "en"}
    scoring = {"seed": 1, "translation": beam, "choose": None}
    rows, metrics = {}, tmp_path / "metrics.jsonl"
    # The first is before the last phase of a schedule.
    losses = [(0.5, "true"), (3.0, "false"), (1.0, "false"), (2.0, "false")]
    lines = [f'{{"dev_loss_nats": {loss}, "early": {early}}}\n' for loss, early in losses]
    metrics.write_text("".join(lines))
    models = [("gates", 30.0, folder), ("scratch", 30.0, folder), ("none", None, trained)]
    held_out = {
        "text": tokens_of(corpus_files, "test"),
        "blocks": corpus_files.blocks("test"),
        "translation": [corpus_files.text("test"), corpus_files.tokenizer("target")],
    }
    about = {name: RUN[name] for name in ("objective", "seed")}
    settings = {"run": RUN, "scoring": scoring}
    whole = {"model": trained / "model", "table": tmp_path / "quality.csv"}
    measure("quality", about, settings, **whole, **held_out)
    for method, penalty, model in models:
        pruned = {"attention": "encoder", "method": method, "penalty": penalty}
        files = ["--model", model / "model", "--smaller", tmp_path / method]
        run_script("shrink_pruned", {}, *files)
        measure(
            "pruning",
            about | pruned,
            settings | {"pruned": pruned},
            model=tmp_path / method,
            metrics=metrics,
            quality=[tmp_path / "quality.parquet"] if method == "none" else [],
            table=tmp_path / f"{method}.csv",
            **held_out,
        )
        [rows[method]] = pd.read_csv(tmp_path / f"{method}.csv").to_dict("records")
    gated, whole = rows["gates"], rows["none"]
    assert [gated[f"heads_{kind}"] for kind in ("encoder", "decoder", "cross")] == [0, 4, 4]
    assert [whole[f"heads_{kind}"] for kind in ("encoder", "decoder", "cross")] == [4, 4, 4]
    # A head of width 8: 3 x 8 rows of 16 weights and a bias, 8 columns of 16 weights.
    assert whole["parameters"] - gated["parameters"] == 4 * (24 * 17 + 8 * 16)
    assert gated["megabytes"] < whole["megabytes"]
    assert gated["penalty_of_sum"] == 15.0 and pd.isna(whole["penalty_of_sum"])
    # Runs, and models from scratch, keep the weights of the lowest dev loss of their last phase,
    # other models with fewer heads those of the last step.
    assert {method: row["dev_loss_nats"] for method, row in rows.items()} == {
        "gates": 2.0,
        "scratch": 1.0,
        "none": 1.0,
    }
    assert [method for method, row in rows.items() if row["start"] == "scratch"] == ["scratch"]
    assert 0 <= gated["bleu"] <= 100 and gated["test_loss_nats"] > 0
    assert gated["quality"] == gated["bleu"]
    scores = pd.read_csv(tmp_path / "quality.csv").set_index("metric")["value"]
    names = ["bleu", "chrf", "accuracy"]
    assert [whole[name] for name in names] == scores[names].to_list() != [gated[n] for n in names]
    assert whole["test_loss_nats"] == pytest.approx(math.log(scores["perplexity"]))
    assert gated["probability"] == pytest.approx(math.exp(-gated["test_loss_nats"]))
    # All translations may be as bad as can be, with each block and without: then there is none.
    assert not (gated["ci_low"] > gated["quality"] or gated["quality"] > gated["ci_high"])
    estimates = pd.concat(pd.read_parquet(tmp_path / f"{name}.parquet") for name in rows)
    assert estimates["without"].map(len).tolist() == [4, 4, 4]
    penalties = estimates.set_index("method")["penalty"]
    assert penalties.dtype == float and penalties.isna().to_dict() == {
        "gates": False,
        "scratch": False,
        "none": True,
    }
    config = subjects.load(tmp_path / "gates").model.config
    assert config.kept_heads["encoder"] == [0, 0]
    assert subjects.load(tmp_path / "gates").tokenizer.get_vocab_size() == config.vocab_size
