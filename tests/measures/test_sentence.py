"""The words of one sentence against each other."""

import numpy as np
import pandas as pd
import pytest
import torch

from bottomup import subjects
from bottomup.corpus import bpe
from bottomup.corpus.words import learn
from bottomup.measures.sentence import against_each_other, cosines, words_of
from tests import tiny
from tests.subjects import families

CENTER = np.array([2.0, 1.0])
# Less the center: to the right, up, down, and twice as far to the right and up.
VECTORS = np.array([[3.0, 1.0], [2.0, 2.0], [2.0, 0.5], [4.0, 3.0]])
HALF = 0.5**0.5  # the cosine of 45 degrees
EXPECTED = [
    [1, 0, 0, HALF],
    [0, 1, -1, HALF],
    [0, -1, 1, -HALF],
    [HALF, HALF, -HALF, 1],
]


def test_cosines_are_of_what_is_left_without_the_center():
    np.testing.assert_allclose(cosines(VECTORS, CENTER), EXPECTED, atol=1e-15)


def test_cosines_do_not_see_the_cone():
    """A long vector that all have in common, as in upper layers, changes nothing but rounding."""
    common = np.array([1e4, -1e4])
    np.testing.assert_allclose(cosines(VECTORS + common, CENTER + common), EXPECTED, atol=1e-9)


def test_a_word_at_the_center_has_no_value_and_others_have():
    found = cosines(np.array([CENTER + 1, CENTER, CENTER + 2]), CENTER)
    assert np.isnan(found[1]).all() and np.isnan(found[:, 1]).all()
    assert found[0, 2] == pytest.approx(1)


def test_rows_are_one_for_each_two_words_of_each_layer():
    layers, centers = [VECTORS[:2], VECTORS[1:3]], [CENTER, CENTER]
    table = against_each_other(["the", "file"], layers, centers)
    assert table.to_numpy().tolist() == [
        [0, 0, "the", 0, "the", 1],
        [0, 0, "the", 1, "file", 0],
        [0, 1, "file", 0, "the", 0],
        [0, 1, "file", 1, "file", 1],
        [1, 0, "the", 0, "the", 1],
        [1, 0, "the", 1, "file", -1],
        [1, 1, "file", 0, "the", -1],
        [1, 1, "file", 1, "file", 1],
    ]


@pytest.fixture
def run(tmp_path, corpus_files):
    """A run, and views of it at words of which one is not seen."""
    corpus_files.save(tiny.drawn, "lm", tmp_path / "model")
    views = np.random.default_rng(0).normal(1, 1, (3, 9, tiny.SHAPE["d_model"]))
    views[:, 4] = np.nan
    np.save(tmp_path / "views.npy", views.astype(np.float16))
    pd.DataFrame({"block": range(9)}).to_parquet(tmp_path / "occurrences.parquet")
    return tmp_path


@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_a_word_of_a_run_is_seen_through_its_last_subword_or_their_mean(run, pooling):
    subject = subjects.load(run / "model")
    words, layers = words_of(subject, "Kings eat, old", None, pooling)
    assert words == ["Kings", "eat", ",", "old"], "as they are written"
    encoded = subject.tokenizer.encode("Kings eat, old")
    read = [*zip(encoded.word_ids, encoded.tokens, strict=True)]
    # A mark of a word's start that is a sub-word of its own is of no word.
    of_words = [[i for i, of in enumerate(read) if of[0] == n and of[1] != "▁"] for n in range(4)]
    assert max(map(len, of_words)) > 1, "some have several"
    places = of_words if pooling == "mean" else [some[-1:] for some in of_words]
    states = subject.hidden_states(torch.tensor([encoded.ids]))
    assert len(layers) == len(states) == 3
    for found, of_layer in zip(layers, states, strict=True):
        expected = np.stack([of_layer[0, some].numpy().mean(axis=0) for some in places])
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_the_program_centers_by_the_mean_of_the_views(measure, run, pooling):
    files = {"model": run / "model", "views": run / "views.npy"}
    files |= {"occurrences": run / "occurrences.parquet", "table": run / "lm-1.csv"}
    measure(
        "sentence",
        {"objective": "lm", "seed": 1},
        {"text": "old kings eat", "language": "en", "pooling": pooling},
        **files,
    )
    table = pd.read_csv(run / "lm-1.csv")
    assert list(table)[:2] == ["objective", "seed"] and len(table) == 3 * 3 * 3
    _, layers = words_of(subjects.load(run / "model"), "old kings eat", None, pooling)
    views = np.load(run / "views.npy").astype(float)
    for layer, vectors in enumerate(layers):
        away = vectors - np.nanmean(views[layer], axis=0)
        expected = away[0] @ away[2] / np.linalg.norm(away[0]) / np.linalg.norm(away[2])
        [found] = table.query(f"layer == {layer} and word_a == 'old' and word_b == 'eat'")["cosine"]
        assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_words_of_a_checkpoint_are_those_of_all_and_cut_into_its_own_subwords(tmp_path, name):
    """A comma that no sub-word of the checkpoint tells from its word takes the word with it."""
    text = "w3 w4 w5, w6"
    learn([[text]], bpe.learn([[text]], 5, lowercase=True, language="en")).save(
        str(tmp_path / "words.json")
    )
    subject = subjects.load(families.save(families.FAMILIES[name], tmp_path / name))
    words, layers = words_of(subject, text, tmp_path / "words.json", "last")
    assert words == ["w3", "w4", "w6"]
    assert [layer.shape for layer in layers] == [(3, families.WIDTH)] * (families.LAYERS + 1)
    ids = torch.tensor([subject.tokenizer.encode(text).ids])
    [places] = [np.flatnonzero(~np.isin(ids[0], subject.special))]
    states = subject.hidden_states(ids, lengths=torch.tensor([ids.shape[1]]))
    np.testing.assert_allclose(layers[2], states[2][0, places[[0, 1, -1]]].numpy(), rtol=1e-6)
