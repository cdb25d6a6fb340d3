"""Checkpoints from folders and wheels, and their twins; words of a text as they read them."""

import json
import shutil
import subprocess
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.core.settings import Checkpoint
from bottomup.corpus.specials import EOS
from bottomup.corpus.tokens import NO_WORD, TokenFile
from bottomup.heads.checkpoints.predictor import objective_of
from bottomup.subjects import opening
from bottomup.subjects.opening import open_checkpoint
from bottomup.subjects.words import of_occurrences, of_subwords, types_of
from bottomup.training.run import save
from tests import tiny
from tests.subjects import families
from tests.subjects.families import FAMILIES
from tests.tiny import drawn, initial, same_bytes

IDS = torch.tensor([[3, 4, 5, 6]])


def opened(source, tmp_path, twin_seed=None):
    source = Checkpoint(**source)
    open_checkpoint(tmp_path / "opened", tmp_path / "downloads", source, twin_seed)
    return subjects.load(tmp_path / "opened")


def states(subject):
    return torch.stack(subject.hidden_states(IDS))


def test_a_folder_is_copied_bit_for_bit(folder, tmp_path):
    copy, original = opened({"folder": str(folder)}, tmp_path), subjects.load(folder)
    assert torch.equal(states(copy), states(original))
    assert copy.masks and original.masks  # what it was trained to predict is not forgotten
    assert (tmp_path / "opened/tokenizer.json").exists()


def test_weights_in_several_files_become_one(folder, tmp_path):
    whole = subjects.load(folder)
    parts = tmp_path / "parts"
    family = FAMILIES["bert"].trained.from_pretrained(folder)
    family.save_pretrained(parts, max_shard_size="4KB")
    families.save_tokenizer(parts)
    assert len([*parts.glob("model-*.safetensors")]) > 1
    copy = opened({"folder": str(parts)}, tmp_path)
    assert torch.equal(states(copy), states(whole)) and copy.masks
    again = FAMILIES["bert"].trained.from_pretrained(tmp_path / "opened")
    assert same_bytes(again.state_dict(), family.state_dict())


def test_a_twin_is_the_initial_model_of_its_seed(folder, tmp_path):
    twin = opened({"folder": str(folder)}, tmp_path, twin_seed=3)
    expected = subjects.untrained(folder, 3)
    assert same_bytes(twin.model.state_dict(), expected.model.state_dict())
    assert twin.layers == expected.layers and twin.d_model == expected.d_model


def test_the_program_opens_a_checkpoint_or_its_twin(folder, tmp_path, run_script):
    for name, seed in (("itself", None), ("twin", 3)):
        run_script(
            "open_checkpoint",
            {"source": {"folder": str(folder)}, "twin_seed": seed},
            *("--model", tmp_path / name, "--downloads", tmp_path / "downloads"),
        )
    itself, twin = (subjects.load(tmp_path / name) for name in ("itself", "twin"))
    assert torch.equal(states(itself), states(subjects.load(folder)))
    assert torch.equal(states(twin), states(subjects.untrained(folder, 3)))


@pytest.mark.parametrize("twin_seed", [None, 3])
def test_a_run_of_another_study(tmp_path, corpus_files, twin_seed):
    """As a checkpoint, though transformers knows no such model."""
    model = drawn("mlm", seed=2)
    save(model, corpus_files.tokenizers("mlm"), tmp_path / "model")
    found = opened({"folder": str(tmp_path / "model")}, tmp_path, twin_seed)
    expected = model if twin_seed is None else initial("mlm", seed=3)
    assert same_bytes(found.model.state_dict(), expected.state_dict())
    assert objective_of(found) is None
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        assert (tmp_path / "opened" / name).read_bytes() == (tmp_path / "model" / name).read_bytes()


def wheel_of(folder, path, prefixes=("package/model/",)):
    with zipfile.ZipFile(path, "w") as wheel:
        for prefix in prefixes:
            for file in folder.iterdir():
                wheel.write(file, prefix + file.name)
        wheel.writestr("package/__init__.py", "raise SystemExit('the wheel was run')")
        wheel.writestr("package/model/../../../../outside.json", "{}")
    return path


def test_a_wheel_is_unpacked_and_never_run(folder, tmp_path, monkeypatch):
    wheel = wheel_of(folder, tmp_path / "package.whl")
    monkeypatch.setattr(opening, "_wheel", lambda *_: wheel)
    found = opened({"package": "package==1"}, tmp_path)
    assert torch.equal(states(found), states(subjects.load(folder)))
    kept = {path.name for path in (tmp_path / "downloads/package==1").iterdir()}
    assert kept == {path.name for path in folder.iterdir()}
    assert not list(tmp_path.rglob("outside.json")) and not list(tmp_path.rglob("__init__.py"))
    # It is not fetched again.
    monkeypatch.setattr(opening, "_wheel", None)
    opened({"package": "package==1"}, tmp_path)


def test_a_wheel_that_two_jobs_want_is_unpacked_once(folder, tmp_path, monkeypatch):
    wheel, fetched = wheel_of(folder, tmp_path / "package.whl"), []

    def fetch(*_):
        fetched.append(wheel)
        time.sleep(0.1)  # as long as the others take to come here
        return wheel

    monkeypatch.setattr(opening, "_wheel", fetch)
    with ThreadPoolExecutor() as pool:
        found = [pool.submit(opening._in_wheel, "package==1", tmp_path) for _ in range(4)]
    assert {job.result() for job in found} == {tmp_path / "package==1"} and len(fetched) == 1


@pytest.mark.parametrize("prefixes", [(), ("a/", "b/")])
def test_a_wheel_without_one_model(folder, tmp_path, monkeypatch, prefixes):
    wheel = wheel_of(folder, tmp_path / "package.whl", prefixes)
    monkeypatch.setattr(opening, "_wheel", lambda *_: wheel)
    with pytest.raises(
        UserError, match=f"package==1 holds {len(prefixes)} files model.safetensors"
    ):
        opened({"package": "package==1"}, tmp_path)


@pytest.mark.parametrize("damage", ["flipped", "cut", "empty"])
def test_a_damaged_wheel(folder, tmp_path, monkeypatch, damage):
    wheel = wheel_of(folder, tmp_path / "package.whl")
    data = bytearray(wheel.read_bytes())
    data[data.index(b'{"__metadata__"') + 9] ^= 1
    wheel.write_bytes({"flipped": data, "cut": data[:-99], "empty": b""}[damage])
    monkeypatch.setattr(opening, "_wheel", lambda *_: wheel)
    with pytest.raises(UserError, match=r"package\.whl cannot be unpacked .*delete it") as error:
        opened({"package": "package==1"}, tmp_path)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "downloads/package==1/config.json").exists()


def test_a_wheel_with_names_that_a_path_writes_otherwise(folder, tmp_path, monkeypatch):
    wheel = wheel_of(folder, tmp_path / "package.whl", ("./package//model/",))
    monkeypatch.setattr(opening, "_wheel", lambda *_: wheel)
    found = opened({"package": "package==1"}, tmp_path)
    assert torch.equal(states(found), states(subjects.load(folder)))


@pytest.mark.parametrize(("place", "value"), [(6, 1), (8, 97), (4, 99)])
def test_a_wheel_that_zipfile_cannot_read(folder, tmp_path, monkeypatch, place, value):
    """Encrypted, of a compression or of a version that it does not know: its headers say so."""
    wheel = wheel_of(folder, tmp_path / "package.whl")
    data = bytearray(wheel.read_bytes())
    for header, at in ((b"PK\x03\x04", place), (b"PK\x01\x02", place + 2)):
        start = -1
        while (start := data.find(header, start + 1)) >= 0:
            data[start + at] = value
    wheel.write_bytes(data)
    monkeypatch.setattr(opening, "_wheel", lambda *_: wheel)
    with pytest.raises(UserError, match=r"package\.whl cannot be unpacked .*delete it"):
        opened({"package": "package==1"}, tmp_path)


def test_a_whole_wheel_is_not_to_be_deleted_where_the_disk_is_full(folder, tmp_path, monkeypatch):
    wheel = wheel_of(folder, tmp_path / "package.whl")
    monkeypatch.setattr(opening, "_wheel", lambda *_: wheel)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(opening.shutil, "copyfileobj", full)
    with pytest.raises(
        UserError, match=r"No space left on device\); free some space, or, if it is"
    ):
        opened({"package": "package==1"}, tmp_path)


def test_no_file_of_a_wheel_is_there_before_it_is_whole(folder, tmp_path, monkeypatch):
    """A job that sees the config, which comes last, does not wait for the lock."""
    wheel, seen = wheel_of(folder, tmp_path / "package.whl"), []
    target, copy = tmp_path / "package==1", shutil.copyfileobj

    def watched(packed, file):
        seen.append({path.name for path in target.iterdir() if path.suffix != ".part"})
        copy(packed, file)

    monkeypatch.setattr(opening, "_wheel", lambda *_: wheel)
    monkeypatch.setattr(opening.shutil, "copyfileobj", watched)
    opening._in_wheel("package==1", tmp_path)
    assert seen[0] == set() and "config.json" not in seen[-1] and (target / "config.json").exists()


def test_links_in_the_folder_of_a_wheel_are_not_written_through(folder, tmp_path, monkeypatch):
    wheel = wheel_of(folder, tmp_path / "package.whl")
    monkeypatch.setattr(opening, "_wheel", lambda *_: wheel)
    (tmp_path / "own").write_text("mine")
    (tmp_path / "downloads/package==1").mkdir(parents=True)
    (tmp_path / "downloads/package==1/model.safetensors").symlink_to(tmp_path / "own")
    opened({"package": "package==1"}, tmp_path)
    assert (tmp_path / "own").read_text() == "mine"


def test_a_name_that_the_hub_does_not_have_ends_in_a_line(tmp_path):
    """As pasted from the address to clone."""
    source = {"hub": "some/model.git", "revision": "a" * 40}
    with pytest.raises(UserError, match=r"some/model.git at a+ cannot be fetched: .* '.git'"):
        opened(source, tmp_path)


@pytest.mark.parametrize(
    ("error", "said"),
    [(ValueError("Expecting value\nline"), "Expecting value"), (EOFError(), "EOF")],
)
def test_whatever_the_hub_raises_is_a_line(tmp_path, monkeypatch, error, said):
    """Such as of an answer that is no JSON, of a body that is cut, of a proxy that is not known."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(opening, "snapshot_download", fail)
    with pytest.raises(UserError, match=f"cannot be fetched: {said}") as raised:
        opened({"hub": "some/model", "revision": "a" * 40}, tmp_path)
    assert "\n" not in str(raised.value)


def test_pip_gets_no_input_to_wait_for(tmp_path, monkeypatch):
    asked = {}

    def run(command, **options):
        asked.update(options, command=command)
        return SimpleNamespace(returncode=1, stderr="401")

    monkeypatch.setattr(opening.subprocess, "run", run)
    with pytest.raises(UserError, match="package index: 401"):
        opening._wheel("package==1", tmp_path)
    assert asked["stdin"] is subprocess.DEVNULL and "--no-input" in asked["command"]


def test_a_package_that_is_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(UserError, match="nothing==1 cannot be fetched from the package index") as e:
        opened({"package": "nothing==1"}, tmp_path)
    assert "\n" not in str(e.value)


def test_words_of_a_table_are_found_in_what_a_subject_reads(folder, tmp_path):
    """Its tokenizer knows whole words only, `w3` and so on; a comma it cannot tell from `w7`."""
    texts = ["w3 w4 w5", "w6 w7,w8", "w9"]
    tiny.written(tmp_path, texts)
    # Sentences 2 and 1 of the split, in this order; all words of both.
    table = pd.DataFrame(
        {"text": [0, 1, 1, 1, 1], "sentence": [2, 1, 1, 1, 1], "position": [0, 0, 1, 2, 3]}
    )
    subject = subjects.load(folder)
    found, rows = of_occurrences(subject, table, tmp_path / "test.parquet", tmp_path / "words.json")
    places = found.last[rows]
    assert isinstance(found.tokens, TokenFile) and len(found.tokens) == 2
    read = [[*map(subject.tokenizer.id_to_token, found.tokens.sentence(i))] for i in range(2)]
    for text, position, place in zip(table["text"], table["position"], places, strict=True):
        word = [["w9"], ["w6", "w7", ",", "w8"]][text][position]
        assert place == NO_WORD or read[text][place] == word or word == ","
    assert (places[:2] != NO_WORD).all()
    assert np.sum(places == NO_WORD) == sum(count for count in found.unaligned.values())


def test_each_sub_word_of_an_aligned_word_has_its_row():
    """The first sentence has the words 0 to 2, of which one is not aligned; the second has 0."""
    numbers = np.array([NO_WORD, 0, 0, 2, NO_WORD, 0, 0, 0])
    tokens = TokenFile(np.arange(8), numbers, np.array([0, 5, 8]))
    table = pd.DataFrame({"text": [0, 0, 0, 1], "position": [0, 1, 2, 0], "tag": list("abcd")})
    found = of_subwords(tokens, table)
    assert found["text"].tolist() == [0, 0, 0, 1, 1, 1]
    assert "".join(found["tag"]) == "aacddd"
    assert found["position"].tolist() == [1, 2, 3, 0, 1, 2]
    assert found["last_subword"].tolist() == [False, True, True, False, False, True]


def test_a_token_is_of_the_type_of_its_word():
    tokens = TokenFile(
        np.array([7, 8, 9, 7, 9]), np.array([NO_WORD, 0, 0, 1, 0]), np.array([0, 4, 5])
    )
    words = TokenFile(np.array([5, 6, EOS, 6, EOS]), np.zeros(0), np.array([0, 3, 5]))
    assert types_of(tokens, words).tolist() == [NO_WORD, 5, 5, 6, 6]


def test_a_config_is_no_longer_there(tmp_path):
    (tmp_path / "config.json").touch()
    (tmp_path / "model.safetensors").write_text(json.dumps({}))
    source = Checkpoint(folder=tmp_path)
    (tmp_path / "config.json").unlink()
    with pytest.raises(UserError, match="no model in"):
        open_checkpoint(tmp_path / "opened", tmp_path / "downloads", source, None)
