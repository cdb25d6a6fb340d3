import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from bottomup import objectives, subjects
from bottomup.core.errors import UserError
from bottomup.core.running import alone
from bottomup.core.settings import Model
from bottomup.corpus.batches import Text
from bottomup.corpus.tokens import TokenFile
from bottomup.plan.digest import digest
from bottomup.training import run
from bottomup.training.loop import Trainer
from bottomup.training.run import initial_model, train
from tests.tiny import DROPOUT, ROOT, SHAPE, files_limited_to, same_bytes

pytestmark = pytest.mark.long

TRAINING = {
    "batch_tokens": 200,
    "max_tokens": 4000,
    "warmup_steps": 10,
    "learning_rate": 0.01,
    "schedule": "inverse_sqrt",
    "optimizer": "adam",
    "evaluate_every_steps": 4,
    "patience": 5,
    "dev_seed": 1,
    "precision": "float32",
}


def settings_of(objective, seed=1, **training):
    options = objectives.load(objective, {}).model_dump()
    run = {"objective": objective, "module": objective, "options": options, "seed": seed}
    settings = run | {"model": SHAPE | DROPOUT}
    return settings if objective == "untrained" else settings | {"training": TRAINING | training}


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    """Only there are the same bytes promised."""
    monkeypatch.setenv("BOTTOMUP_DEVICE", "cpu")


@pytest.fixture
def trained(corpus_files, tmp_path):
    """Train in a folder and return it; finished runs are found in `kept`, by default by none."""

    def trained(
        settings,
        folder="run",
        code=None,
        tokens=corpus_files.tokens,
        tokenizers=None,
        kept=None,
        **steps,
    ):
        code = code or ({"a.py": "digest"} if kept else None)
        tokenizers = tokenizers or corpus_files.tokenizers(settings["module"])
        folders = {"folder": tmp_path / folder, "trained": tmp_path / (kept or f"{folder}.kept")}
        train(run.Settings(**settings), code, tokens, tokenizers, accumulate=1, **folders, **steps)
        return tmp_path / folder

    return trained


def weights(folder):
    return load_file(folder / "model" / "model.safetensors")


@pytest.mark.parametrize("objective", ["lm", "mlm", "mt"])
def test_a_run_is_a_model_and_its_metrics(trained, objective):
    folder = trained(settings_of(objective))
    assert {path.name for path in folder.iterdir()} == {"model", "metrics.jsonl"}
    metrics = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert metrics[-1]["tokens"] >= 4000
    assert metrics[-1]["dev_loss_nats"] < metrics[0]["dev_loss_nats"]
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*tokenizer.json")}
    target = {"model/target/tokenizer.json"} if objective == "mt" else set()
    assert names == {"model/tokenizer.json"} | target
    assert subjects.load(folder / "model").layers == 2


@pytest.mark.parametrize(
    ("objective", "trunk"), [("lm", "lstm"), ("bilm", "lstm"), ("mlm", "convolution")]
)
def test_a_trunk_that_is_no_transformer(trained, objective, trunk):
    shape = {"trunk": trunk, "of_layer": [8, 6], "layers": 2, "d_model": 16, "dropout": 0.1}
    folder = trained(settings_of(objective) | {"model": shape})
    metrics = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert metrics[-1]["dev_loss_nats"] < metrics[0]["dev_loss_nats"]
    subject = subjects.load(folder / "model")
    assert (subject.layers, subject.d_model, subject.heads) == (2, 16, 0)
    assert subject.model.config.trunk == trunk
    again = trained(settings_of(objective) | {"model": shape}, "again")
    assert same_bytes(weights(folder), weights(again))


def test_untrained_is_the_initial_model(trained, corpus_files):
    folder = trained(settings_of("untrained"))
    assert (folder / "metrics.jsonl").read_text() == ""
    size = subjects.load(folder / "model").tokenizer.get_vocab_size()
    shape, objective = Model(**SHAPE | DROPOUT), objectives.load("untrained", {})
    initial = initial_model(shape, objective, 1, {"source": size})
    assert same_bytes(weights(folder), initial.state_dict())


def test_runs_of_a_seed_start_from_the_same_bytes(trained, monkeypatch):
    """Encoder and embeddings, as they are when the first update begins."""
    started = {}

    def note(trainer):
        started[trainer.objective.__module__] = {
            name: weight.clone() for name, weight in trainer.model.encoder.state_dict().items()
        }
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "train", note)
    for objective in ("lm", "mlm", "mt"):
        with pytest.raises(KeyboardInterrupt):
            trained(settings_of(objective), objective)
    untrained = weights(trained(settings_of("untrained"), "untrained"))
    prefix = "encoder."
    expected = {n[len(prefix) :]: w for n, w in untrained.items() if n.startswith(prefix)}
    assert len(started) == 3 and "embedding.tokens.weight" in expected
    assert all(same_bytes(encoder, expected) for encoder in started.values())
    other = weights(trained(settings_of("untrained", seed=2), "other"))
    name = "encoder.embedding.tokens.weight"
    assert not torch.isclose(untrained[name], other[name]).all()


def test_no_run_is_trained_twice(trained, monkeypatch, corpus_files):
    """Whatever a study calls it; but where anything else differs, it is another run."""
    first = trained(settings_of("lm"), "first", kept="kept")
    monkeypatch.setattr(Trainer, "update", None)
    again = trained(settings_of("lm") | {"objective": "again"}, "second/again", kept="kept")
    files = {path.relative_to(first) for path in first.rglob("*") if path.is_file()}
    assert files == {path.relative_to(again) for path in again.rglob("*") if path.is_file()}
    for file in files:
        assert (first / file).read_bytes() == (again / file).read_bytes()
    half = {"half": {"number": 1, "seed": 1}}
    for other in (settings_of("lm", seed=2), settings_of("lm") | half, settings_of("mlm")):
        with pytest.raises(TypeError):
            trained(other, "other", kept="kept")
    with pytest.raises(TypeError):
        trained(settings_of("lm"), "other", code={"bottomup/core/seeds.py": "other"}, kept="kept")


@pytest.mark.parametrize(("objective", "side"), [("first_letter", "source"), ("mt", "target")])
def test_a_run_on_other_letters_is_another_run(
    trained, monkeypatch, corpus_files, tmp_path, objective, side
):
    """In another script a text may have the same numbers of tokens; their types differ."""
    settings, tokenizers = settings_of(objective), corpus_files.tokenizers(objective)
    content = json.loads(tokenizers[side].read_text())
    model, cyrillic = content["model"], dict(enumerate(map(chr, range(0x410, 0x450)), ord("A")))
    special = [token["content"] for token in content["added_tokens"]]
    model["vocab"] = {
        token if token in special else token.translate(cyrillic): number
        for token, number in model["vocab"].items()
    }
    model["merges"] = [[part.translate(cyrillic) for part in pair] for pair in model["merges"]]
    other = tmp_path / "cyrillic.json"
    other.write_text(json.dumps(content))
    trained(settings, "first", kept="kept")
    monkeypatch.setattr(Trainer, "update", None)
    trained(settings, "again", kept="kept")
    with pytest.raises(TypeError):
        trained(settings, "other", tokenizers=tokenizers | {side: other}, kept="kept")


def test_going_back_to_a_finished_run_keeps_the_checkpoint_of_another(trained, monkeypatch):
    finished, other = settings_of("lm"), settings_of("lm", seed=2)
    trained(finished, kept="kept")
    begun = stop_at(monkeypatch, 6)
    with pytest.raises(KeyboardInterrupt):
        trained(other, kept="kept")
    begun.clear()
    folder = trained(finished, kept="kept")
    assert begun == [] and not (folder / "checkpoint").exists()
    with pytest.raises(KeyboardInterrupt):
        trained(other, kept="kept")
    assert begun == [5, 6]


def test_without_a_digest_of_the_code_no_run_is_kept(trained, tmp_path):
    trained(settings_of("lm"))
    assert not (tmp_path / "run.kept").exists()


def test_a_kept_run_that_cannot_be_read_is_trained_again(trained, tmp_path, caplog):
    caplog.set_level("INFO")
    first = weights(trained(settings_of("lm"), "first", kept="kept"))
    [kept] = (tmp_path / "kept").glob("*.safetensors")
    kept.write_bytes(kept.read_bytes()[:1000])
    assert same_bytes(weights(trained(settings_of("lm"), "second", kept="kept")), first)
    assert f"{kept} is damaged" in caplog.text
    caplog.clear()
    trained(settings_of("lm"), "third", kept="kept")
    assert f"was trained before: taken from {kept}" in caplog.text


def test_a_run_that_cannot_be_kept_is_whole(trained, tmp_path, caplog):
    caplog.set_level("INFO")
    (tmp_path / "kept").write_text("no folder")
    folder = trained(settings_of("lm"), kept="kept")
    assert subjects.load(folder / "model").layers == 2
    assert "is not kept for other studies" in caplog.text


@pytest.mark.parametrize("n_sentences", [2, 7, 1000])
def test_halves_of_a_text_are_all_of_it_and_share_nothing(n_sentences):
    first, second = (run.half(n_sentences, number, seed=1) for number in (1, 2))
    assert sorted([*first, *second]) == list(range(n_sentences))
    assert 0 <= len(first) - len(second) <= 1
    assert np.array_equal(first, np.sort(first))
    assert n_sentences < 1000 or not np.array_equal(first, run.half(n_sentences, 1, seed=2))


def test_a_run_on_half_of_the_text_trains_on_that_half(trained, monkeypatch):
    seen = []

    class Watched(Trainer):
        def __init__(self, model, objective, text, *rest):
            seen.append(text)
            super().__init__(model, objective, text, *rest)

    monkeypatch.setattr(run, "Trainer", Watched)
    for number in (1, 2):
        trained(settings_of("mt") | {"half": {"number": number, "seed": 1}}, f"half{number}")
    trained(settings_of("mt"), "all")
    *halves, everything = (len(text.source) for text in seen)
    assert sum(halves) == everything
    assert len({text.digest() for text in seen}) == 3
    sides = [(len(text.source), len(text.target)) for text in seen]
    assert all(source == target for source, target in sides)


def test_the_same_settings_give_the_same_bytes(trained):
    a, b = trained(settings_of("mlm"), "a"), trained(settings_of("mlm"), "b")
    for name in ("metrics.jsonl", "model/model.safetensors", "model/config.json"):
        assert (a / name).read_bytes() == (b / name).read_bytes()
    assert not same_bytes(weights(a), weights(trained(settings_of("mlm", seed=2), "c")))


def stop_at(monkeypatch, step):
    """Stop every run at a step; returns the steps that are begun from now on."""
    begun, update = [], Trainer.update

    def stopping(trainer, sentences, now):
        begun.append(now)
        if now == step:
            raise KeyboardInterrupt
        return update(trainer, sentences, now)

    monkeypatch.setattr(Trainer, "update", stopping)
    return begun


def with_another_word(tokens, folder):
    """A copy of the token files whose training text differs in one token."""
    for split in ("train.source", "dev.source"):
        file = TokenFile.load(tokens / split)
        ids = np.array(file.ids)
        if split == "train.source":
            ids[0] = 5 if ids[0] != 5 else 6
        (folder / split).mkdir(parents=True)
        TokenFile(ids, file.words, file.offsets).save(folder / split)
    return folder


def test_a_torn_checkpoint_ends_in_the_same_bytes(trained, monkeypatch, tmp_path):
    """Checkpoints are of the steps 4 and 8; the newer one is as a full disk leaves it."""
    with monkeypatch.context() as patch:
        stop_at(patch, 10)
        with pytest.raises(KeyboardInterrupt):
            trained(settings_of("lm"))
    (tmp_path / "run/checkpoint/step_8.optimizer.safetensors").write_bytes(b"")
    begun = stop_at(monkeypatch, None)
    torn = trained(settings_of("lm"))
    assert begun[0] == 5
    whole = trained(settings_of("lm"), "whole")
    for name in ("metrics.jsonl", "model/model.safetensors"):
        assert (torn / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize("split", ["train", "dev"])
@pytest.mark.parametrize("found", ["no sentences", "the id 1000"])
def test_token_files_that_do_not_fit(trained, corpus_files, tmp_path, split, found):
    tokens = with_another_word(corpus_files.tokens, tmp_path / "tokens")
    if found == "no sentences":
        empty = TokenFile(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(1, np.int64))
        empty.save(tokens / f"{split}.source")
    else:
        path = tokens / f"{split}.source/ids.npy"
        ids = np.load(path)
        ids[0] = 1000
        np.save(path, ids)
    words = rf"{split}.source has {found}; expected: ids below \d+, .*: delete the folder"
    with pytest.raises(UserError, match=words):
        trained(settings_of("lm"), tokens=tokens)


@pytest.mark.parametrize("changed", ["nothing", "settings", "code", "text"])
def test_only_a_checkpoint_of_the_same_run_is_gone_on_with(
    trained, monkeypatch, corpus_files, tmp_path, changed
):
    with monkeypatch.context() as patch:
        stop_at(patch, 6)
        with pytest.raises(KeyboardInterrupt):
            trained(settings_of("lm"))
    arguments = {
        "nothing": {},
        "settings": {"settings": settings_of("lm", warmup_steps=11)},
        "code": {"code": {"a.py": "another digest"}},
        "text": {"tokens": with_another_word(corpus_files.tokens, tmp_path / "tokens")},
    }[changed]
    begun = stop_at(monkeypatch, 1000)
    arguments = {"settings": settings_of("lm")} | arguments
    resumed = trained(**arguments)
    assert begun[0] == (5 if changed == "nothing" else 1)
    assert same_bytes(weights(resumed), weights(trained(folder="never stopped", **arguments)))


def at_step(step, objective="mlm", **training):
    return settings_of(objective, **training) | {"step": step}


def bytes_of(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("objective", ["lm", "mlm", "mt"])
def test_a_run_at_a_step_has_the_weights_of_that_step(trained, monkeypatch, objective):
    """Not the best ones so far; kept on the way they are those of a training that stops there."""
    seen, update = {}, Trainer.update

    def noting(trainer, sentences, step):
        state = trainer.model.state_dict()
        seen[step - 1] = {name: weight.clone() for name, weight in state.items()}
        return update(trainer, sentences, step)

    steps = [0, 1, 4, 7]  # the dev loss is measured every 4 steps
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "update", noting)
        trained(settings_of(objective), "whole", kept="kept", keep=steps)
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "update", None)
        found = {
            step: trained(at_step(step, objective), f"kept {step}", kept="kept") for step in steps
        }
    for step, folder in found.items():
        assert same_bytes(weights(folder), seen[step])
        alone = trained(at_step(step, objective), f"alone {step}", kept=f"alone kept {step}")
        assert bytes_of(folder) == bytes_of(alone)
        lines = (folder / "metrics.jsonl").read_text().splitlines()
        assert [json.loads(line)["step"] for line in lines] == [4] * (step >= 4)


def test_steps_to_keep_change_nothing_of_the_run(trained):
    plain = trained(settings_of("mlm"), "plain", kept="one")
    assert bytes_of(plain) == bytes_of(trained(settings_of("mlm"), kept="two", keep=[0, 5, 8]))


def test_a_run_that_is_stopped_and_goes_on_keeps_its_steps(trained, monkeypatch):
    """Those before the last checkpoint, of step 4, those lost since, and those to come."""
    steps = [3, 4, 5, 9]
    with monkeypatch.context() as patch:
        stop_at(patch, 7)
        with pytest.raises(KeyboardInterrupt):
            trained(settings_of("mlm"), kept="kept", keep=steps)
    begun = stop_at(monkeypatch, 1000)
    trained(settings_of("mlm"), kept="kept", keep=steps)
    assert begun[0] == 5
    begun.clear()
    resumed = [trained(at_step(step), f"kept {step}", kept="kept") for step in steps]
    assert begun == []
    for step, folder in zip(steps, resumed, strict=True):
        assert bytes_of(folder) == bytes_of(trained(at_step(step), f"alone {step}"))


def test_a_step_that_was_not_asked_for_is_trained_as_far_as_that(trained, monkeypatch):
    """And then it is kept, too, beside the run itself."""
    whole = trained(settings_of("mlm"), "whole", kept="kept")
    begun = stop_at(monkeypatch, 1000)
    first = trained(at_step(6), "first", kept="kept")
    assert begun == [1, 2, 3, 4, 5, 6]
    again = trained(at_step(6), "again", kept="kept")
    assert bytes_of(trained(settings_of("mlm"), "whole again", kept="kept")) == bytes_of(whole)
    assert len(begun) == 6
    assert bytes_of(first) == bytes_of(again) != bytes_of(whole)


def test_a_step_after_the_end_is_one_line_before_any_training(trained, monkeypatch, tmp_path):
    whole = trained(settings_of("mlm"), "whole", kept="kept", keep=[1000])
    last = json.loads((whole / "metrics.jsonl").read_text().splitlines()[-1])["step"]
    said = rf"ended at step {last}, before step 1000 .*raise training.max_tokens or training.pat"
    with pytest.raises(UserError, match=said) as raised:
        trained(at_step(1000), kept="kept")  # nothing tells it beforehand
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "run" / "model").exists()
    at_the_end = trained(at_step(last), "at the end", kept="kept", whole=whole / "metrics.jsonl")
    assert (at_the_end / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()
    monkeypatch.setattr(Trainer, "update", None)
    with pytest.raises(UserError, match=said):
        trained(at_step(1000), "other", kept="kept", whole=whole / "metrics.jsonl")


def test_text_of_both_sides_only_where_the_target_is_predicted(corpus_files):
    loaded = {
        name: Text.load(corpus_files.tokens, "dev", objectives.load(name, {}).predicts)
        for name in ("lm", "mt")
    }
    assert loaded["lm"].target is None
    assert len(loaded["mt"].target) == len(loaded["mt"].source) == 20


def test_no_room_for_the_model_loses_no_training(trained, monkeypatch):
    save = run.save

    def full(*arguments):
        with files_limited_to(1024):
            save(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(run, "save", full)
        with pytest.raises(UserError, match=r"the model cannot be written: .*too large"):
            trained(settings_of("lm"))
    begun = stop_at(monkeypatch, 1000)
    trained(settings_of("lm"))
    assert begun == []


def test_what_goes_wrong_leaves_no_model(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(Trainer, "dev_loss", lambda trainer: float("nan"))
    with pytest.raises(UserError, match="the dev loss is nan"):
        trained(settings_of("lm"))
    assert not (tmp_path / "run" / "model").exists()


CPU = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
DIGEST = digest("scripts/train.py", "bottomup.objectives.mlm")
# Runs the program that follows, and has the system kill it in update 30.
KILLED = """
import os, runpy, signal, sys
from bottomup.training.loop import Trainer
update = Trainer.update
def killing(trainer, sentences, step):
    if step == 30:
        os.kill(os.getpid(), signal.SIGKILL)
    return update(trainer, sentences, step)
Trainer.update = killing
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""


def command_of(settings, corpus_files, folder):
    """Of the program, its environment, and the digest with which a test goes on from there."""
    arguments = ["--settings", json.dumps(settings | {"code": DIGEST})]
    arguments += ["--tokens", corpus_files.tokens, "--run", folder]
    arguments += ["--tokenizers", corpus_files.tokenizer("source")]
    return [ROOT / "scripts" / "train.py", *arguments, "--trained", folder.with_suffix(".kept")]


def stopped_by(number, command, folder, **environment):
    """What a program says that a signal stops once it has a checkpoint in the folder."""
    with subprocess.Popen(
        command, env=os.environ | CPU | environment, stderr=subprocess.PIPE, text=True
    ) as program:
        state = folder / "checkpoint" / "state.json"
        while program.poll() is None and not state.exists():
            time.sleep(0.01)
        program.send_signal(number)
        said = program.communicate()[1]
    assert program.returncode == os.EX_TEMPFAIL, said
    assert said.count(f"stopped by {signal.Signals(number).name} after step ") == 1
    return said


def same_run(a, b):
    """Whether two runs have the same bytes."""
    names = ("metrics.jsonl", "model/model.safetensors")
    return all((a / name).read_bytes() == (b / name).read_bytes() for name in names)


def test_killed_and_run_again_gives_the_same_bytes(trained, corpus_files, tmp_path):
    settings = settings_of("mlm", max_tokens=10_000, patience=1000)
    command = [sys.executable, "-c", KILLED]
    command += command_of(settings, corpus_files, tmp_path / "killed")
    killed = subprocess.run(command, env=os.environ | CPU, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    state = json.loads((tmp_path / "killed" / "checkpoint" / "state.json").read_text())
    assert state["state"]["progress"]["step"] == 28
    assert same_run(*(trained(settings, name, DIGEST) for name in ("killed", "never stopped")))


def test_stopped_from_outside_and_run_again_gives_the_same_bytes(trained, corpus_files, tmp_path):
    """At any moment after the first checkpoint, by the warning of SLURM, which is not there."""
    settings = settings_of("mlm", max_tokens=10_000, patience=1000)
    command = [sys.executable, *command_of(settings, corpus_files, tmp_path / "stopped")]
    slurm = {"SLURM_JOB_ID": "12", "PATH": ""}
    said = stopped_by(signal.SIGUSR1, command, tmp_path / "stopped", **slurm)
    assert "SLURM does not run job 12 again" in said
    assert not (tmp_path / "stopped" / "model").exists()
    assert same_run(*(trained(settings, name, DIGEST) for name in ("stopped", "never stopped")))


def test_two_jobs_of_one_run_train_it_once(trained, corpus_files, tmp_path):
    """As on a cluster after a killed Snakemake, whose job is still there: the others wait for it,
    which here is the test."""
    settings = settings_of("mlm", max_tokens=10_000, patience=1000)
    command = [sys.executable, *command_of(settings, corpus_files, tmp_path / "twice")]
    with alone(tmp_path / "twice/checkpoint.lock"):
        jobs = [
            subprocess.Popen(command, env=os.environ | CPU, stderr=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        for job in jobs:
            assert any("checkpoint.lock: waiting until it ends" in line for line in job.stderr)
    said = [job.communicate()[1] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0], said
    assert sum("this run was trained before" in each for each in said) == 1
    trained(settings, "once", DIGEST)
    assert same_run(tmp_path / "twice", tmp_path / "once")


@pytest.mark.on_a_gpu("train")
def test_program(corpus_files, tmp_path, run_script):
    tokenizers = corpus_files.tokenizers("mt").values()
    run_script(
        "train",
        settings_of("mt", max_tokens=500),
        *("--tokens", corpus_files.tokens, "--run", tmp_path, "--accumulate", 2),
        *("--trained", tmp_path / "trained"),
        *("--tokenizers", *tokenizers),
    )
    assert subjects.load(tmp_path / "model").model.config.decoder_layers == 2


@pytest.mark.parametrize("donor", [(), ("model.safetensors", "functions.csv")])
def test_the_program_hands_on_what_it_is_given(run_script, monkeypatch, tmp_path, donor):
    donor = tuple(tmp_path / name for name in donor)
    given = []
    monkeypatch.setattr(run, "train", lambda *arguments: given.append(arguments))
    run_script(
        "train",
        settings_of("mt"),
        *("--tokens", tmp_path / "tokens", "--tokenizers", tmp_path / "s", tmp_path / "t"),
        *("--run", tmp_path / "run", "--accumulate", 3, "--trained", tmp_path / "trained"),
        *("--keep", 8, 16, "--whole", tmp_path / "whole", "--heads-from", *donor),
    )
    [(settings, _, *others)] = given
    assert settings == run.Settings(**settings_of("mt"))
    tokenizers = {"source": tmp_path / "s", "target": tmp_path / "t"}
    expected = [tmp_path / "tokens", tokenizers, tmp_path / "run", 3, tmp_path / "trained"]
    assert others == [*expected, [8, 16], tmp_path / "whole", donor or None]


def test_one_sentence_has_no_halves():
    with pytest.raises(UserError, match="one sentence, and no halves"):
        run.half(1, 2, seed=1)
