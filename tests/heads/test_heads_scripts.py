"""The programs of heads, as the rules call them."""

import json
import shutil

import pandas as pd
import pytest
import torch

from bottomup import subjects
from bottomup.model.configuration import TransformerConfig
from bottomup.training import run
from tests import tiny
from tests.training.test_run import TRAINING, settings_of

RUN = {"objective": "mt", "seed": 1, "options": settings_of("mt")["options"]}
BEAM = {"beam_size": 2, "length_penalty": 0.6}
PRUNING = RUN | {"attention": "all", "penalty": 30.0, "training": TRAINING | {"max_tokens": 400}}
GATES = {"method": "gates", "gates": {"learning_rate": 1.0, "initial_log_alpha": 1.0}}
KINDS = {"encoder", "decoder", "cross"}


@pytest.fixture(scope="module")
def trained(corpus_files, tmp_path_factory):
    """A run of MT, and the importance of its heads."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "device", lambda: torch.device("cpu"))
        run.train(
            settings_of("mt", max_tokens=800),
            "digest",
            corpus_files.tokens,
            corpus_files.tokenizers("mt"),
            folder,
            accumulate=1,
        )
    return folder


@pytest.fixture
def importance(trained, corpus_files, run_script, tmp_path):
    settings = RUN | BEAM | {"sentences": 6, "bootstrap_samples": 5, "sampling_seed": 1}
    files = ["--model", trained / "model", "--tokens", corpus_files.tokens]
    run_script("measure_head_importance", settings, *files, "--table", tmp_path / "importance.csv")
    return tmp_path / "importance.csv"


@pytest.fixture
def prune(trained, corpus_files, run_script, tmp_path):
    def prune(settings, name, *chosen_by):
        run_script(
            "prune_heads",
            PRUNING | settings | {"code": "any"},
            *("--model", trained / "model", "--tokens", corpus_files.tokens),
            *(["--chosen-by", *chosen_by] if chosen_by else []),
            *("--folder", tmp_path / name, "--gates", tmp_path / f"{name}.csv"),
        )
        return tmp_path / name, pd.read_csv(tmp_path / f"{name}.csv")

    return prune


def test_importance_of_each_head_and_kind(importance):
    table = pd.read_csv(importance)
    assert set(table["attention"]) == KINDS
    assert table.groupby("importance").size().to_dict() == dict.fromkeys(
        ["confidence", "relevance_alpha_beta", "relevance_ratio", "gradient", "loss_increase"], 12
    )
    found = table.dropna(subset="value")
    # So short a training may make every translation empty, and decoders have no tokens then.
    assert (table["value"].isna() <= (table["importance"] == "confidence")).all()
    assert (found["ci_low"] <= found["value"]).all() and (found["value"] <= found["ci_high"]).all()
    shares = table[table["importance"].str.startswith("relevance")]
    sums = shares.groupby(["importance", "attention", "layer"])["value"].sum()
    assert sums.tolist() == pytest.approx([1.0] * len(sums))


def test_heads_have_a_row_for_each_function(importance, run_script, tmp_path):
    head = {"objective": "mt", "seed": 1, "attention": "encoder", "layer": 1, "head": 2}
    functions = [("positional", 0.95, None, True), ("rarest", 0.6, 0.2, True)]
    functions += [("dobj_to_head", 0.5, 0.49, False)]
    columns = ["function", "accuracy", "baseline_accuracy", "held"]
    rows = [head | dict(zip(columns, values, strict=True)) for values in functions]
    pd.DataFrame(rows).to_csv(tmp_path / "functions.csv", index=False)
    run_script(
        "collect_heads",
        {},
        *("--importance", importance, "--functions", tmp_path / "functions.csv"),
        *("--table", tmp_path / "heads.csv"),
    )
    heads = pd.read_csv(tmp_path / "heads.csv")
    assert len(heads) == 12 + 1
    assert heads["function"].dropna().tolist() == ["positional", "rarest"]
    assert heads["function_accuracy"].dropna().tolist() == [0.95, 0.6]
    measured = pd.read_csv(importance).query("importance == 'relevance_alpha_beta'")
    assert set(heads["relevance"]) == set(measured["value"])


def test_gates_then_as_many_at_random(prune, importance):
    """Gates so eager are all closed at the end; two of them are opened here by hand."""
    folder, gates = prune(GATES, "gates")
    steps = [json.loads(line)["step"] for line in (folder / "metrics.jsonl").open()]
    assert sorted(set(gates["step"])) == steps and len(gates) == 12 * len(steps)
    assert set(gates["kind"]) == KINDS and set(gates["method"]) == {"gates"}
    assert not gates[gates["step"] == steps[-1]]["kept"].any()

    last = gates["step"] == steps[-1]
    gates.loc[gates[last].index[:2], "kept"] = True
    gates.to_csv(folder / "found.csv", index=False)
    for method in ("random", "relevance", "scratch"):
        other, kept = prune({"method": method}, method, folder / "found.csv", importance)
        assert kept["kept"].sum() == 2 and set(kept["method"]) == {method}
        model = subjects.load(other / "model").model
        left = [int(m.gates.sum()) for layers in model.attentions().values() for m in layers]
        assert sum(left) == 2


def test_only_from_scratch_is_what_training_found_forgotten(
    prune, trained, tmp_path, corpus_files, run_script
):
    """From weights that are all moved, scratch comes to the same ones, and fine-tuning does not."""
    _, gates = prune(GATES, "found")
    moved = subjects.load(trained / "model")
    shutil.copytree(trained / "model", tmp_path / "moved")
    tiny.noise(moved.model).save_pretrained(tmp_path / "moved")
    gates.assign(kept=True).to_csv(tmp_path / "found.csv", index=False)
    same = {}
    for method in ("scratch", "random"):
        settings = PRUNING | {"method": method, "code": "any"}
        for name, start in (("usual", trained / "model"), ("other", tmp_path / "moved")):
            folder = tmp_path / method / name
            run_script(
                "prune_heads",
                settings,
                *("--model", start, "--tokens", corpus_files.tokens),
                *("--chosen-by", tmp_path / "found.csv"),
                *("--folder", folder, "--gates", tmp_path / "kept.csv"),
            )
        models = [tmp_path / method / name / "model" for name in ("usual", "other")]
        usual, other = (subjects.load(model).model.state_dict() for model in models)
        same[method] = tiny.same_bytes(usual, other)
    assert same == {"scratch": True, "random": False}


def test_fine_tuning_spends_its_budget_whatever_the_dev_loss(prune, tmp_path):
    """At so high a rate the dev loss stalls at once."""
    training = PRUNING["training"] | {"patience": 1, "learning_rate_scale": 50.0}
    _, gates = prune(GATES, "found")
    gates.to_csv(tmp_path / "found.csv", index=False)
    settings = {"method": "random", "training": training | {"evaluate_every_steps": 1}}
    folder, _ = prune(settings, "random", tmp_path / "found.csv")
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").open()]
    assert lines[-1]["tokens"] >= 400
    losses = [line["dev_loss_nats"] for line in lines]
    assert min(losses) < losses[-1]


def test_a_pruned_model_is_measured_as_the_smaller_one(
    prune, trained, corpus_files, run_script, tmp_path
):
    folder, _ = prune(GATES | {"attention": "encoder"}, "encoder")
    before, after = (subjects.load(path / "model").model for path in (trained, folder))
    assert tiny.same_bytes(before.decoder.state_dict(), after.decoder.state_dict())
    assert not tiny.same_bytes(before.encoder.state_dict(), after.encoder.state_dict())
    settings = RUN | BEAM | {"attention": "encoder", "gated_layers": 2, "sampling_seed": 1}
    settings |= {"sentences": 5, "language": "en", "bootstrap_samples": 3}
    rows = {}
    for method, penalty, model in (("gates", 30.0, folder), ("none", None, trained)):
        run_script(
            "measure_pruning",
            settings | {"method": method, "penalty": penalty},
            *("--model", model / "model", "--metrics", model / "metrics.jsonl"),
            *("--tokens", corpus_files.tokens),
            *("--translation", corpus_files.text("test"), corpus_files.tokenizer("target")),
            *("--smaller", tmp_path / method, "--table", tmp_path / f"{method}.csv"),
            *("--samples", tmp_path / f"{method}_samples.csv"),
        )
        [rows[method]] = pd.read_csv(tmp_path / f"{method}.csv").to_dict("records")
    gated, whole = rows["gates"], rows["none"]
    assert [gated[f"heads_{kind}"] for kind in ("encoder", "decoder", "cross")] == [0, 4, 4]
    assert [whole[f"heads_{kind}"] for kind in ("encoder", "decoder", "cross")] == [4, 4, 4]
    # A head of width 8: 3 x 8 rows of 16 weights and a bias, 8 columns of 16 weights.
    assert whole["parameters"] - gated["parameters"] == 4 * (24 * 17 + 8 * 16)
    assert gated["megabytes"] < whole["megabytes"]
    assert gated["penalty_of_sum"] == 15.0 and pd.isna(whole["penalty_of_sum"])
    dev = [json.loads(line)["dev_loss_nats"] for line in (folder / "metrics.jsonl").open()]
    assert gated["dev_loss_nats"] == pytest.approx(dev[-1])
    assert 0 <= gated["bleu"] <= 100 and gated["test_loss_nats"] > 0
    samples = pd.read_csv(tmp_path / "gates_samples.csv")
    assert samples["sample"].tolist() == [0, 1, 2, 3] and set(samples["method"]) == {"gates"}
    assert samples["quality"][0] == pytest.approx(gated["bleu"])
    config = TransformerConfig.from_pretrained(tmp_path / "gates")
    assert config.kept_heads["encoder"] == [0, 0]
    assert len(subjects.load(tmp_path / "gates").tokenizer) == config.vocab_size
