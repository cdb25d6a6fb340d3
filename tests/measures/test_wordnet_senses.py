"""Senses of a dictionary: cases worked out by hand, senses planted in vectors."""

import numpy as np
import pandas as pd
import pytest
import torch

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.corpus.wordnet import examples
from bottomup.measures.wordnet import NEEDED, asked, known, rows, sense_separation
from bottomup.training.run import save
from tests import tiny
from tests.corpus.test_wordnet import folder_of
from tests.measures.test_agreement import trained_on


def table_of(n_words, n_senses=2, n=3):
    senses = [(f"w{w}", "noun", f"{w}.{s}") for w in range(n_words) for s in range(n_senses)]
    found = [(*of, f"the {of[0]} is {i}", 4, 4 + len(of[0])) for of in senses for i in range(n)]
    return pd.DataFrame(found, columns=["word", "class", "sense", "text", "start", "end"])


def test_words_of_the_training_text_with_two_senses_of_two_examples():
    found = table_of(3)
    few = found.drop([1, 2, 6, 7, 8])  # one example of a sense of w0; one sense of w1
    assert set(asked(few, 1)["word"]) == {"w2"}
    assert set(known(found, {"w0", "w2"})["word"]) == {"w0", "w2"}
    assert len(known(found.assign(text=found["text"].str.upper()), {"w1"})) == 6
    assert len(known(found, set())) == 0 == len(asked(found.iloc[:0], 1))
    many = asked(table_of(50), 1)
    assert (many.groupby("word")["block"].nunique() == 1).all() and many["block"].nunique() == 20
    assert not many["sense"].is_monotonic_increasing, "of equal rows the first one is nearest"


def test_one_word_by_hand():
    """Three of sense a, two of b. On a circle at 0, 10, 50 and 60, 100 degrees.

    Nearest: 10, 0, 60 (wrong), 50 (wrong), 60. By sense 2/3 and 1/2, 7/12 on average. Others of the
    same sense: 2 of 4 for a, 1 of 4 for b, 3/8 on average. Angles of one sense: 10, 50, 40, 40; of
    two: 60, 100, 50, 90, 10, 50. Nearer than so many of these six: 5.5, 4 (two ties), 5, 5.
    """
    angles = np.deg2rad([0, 10, 50, 60, 100])
    view = np.stack([np.cos(angles), np.sin(angles)], axis=1) * [[1], [2], [3], [4], [5]]
    share, chance, alike = sense_separation(view, np.array([*"aaabb"]))
    assert (share, chance) == (pytest.approx(7 / 12), pytest.approx(3 / 8))
    assert alike == pytest.approx((5.5 + 4 + 5 + 5) / 24)


def test_one_large_neuron_hides_no_senses():
    random = np.random.default_rng(3)
    senses = np.repeat(["a", "b", "c"], 4)
    view = random.standard_normal((12, 8)) + 4 * (senses[:, None] == np.array([*"abc"])) @ np.eye(
        3, 8
    )
    large = np.append(view, np.full((12, 1), 1e5), axis=1)
    expected = np.append(view, np.full((12, 1), 1e2), axis=1)
    assert sense_separation(large, senses)[2] == pytest.approx(
        sense_separation(expected, senses)[2], abs=0.03
    )


def test_a_large_neuron_of_both_signs_ties_no_pairs():
    random, senses = np.random.default_rng(3), np.repeat([*"ab"], 6)
    view = np.column_stack([random.standard_normal((12, 8)), 1e6 * np.array([1, -1] * 6)])
    # By numbers of more digits.
    rows = view.astype(np.longdouble)
    rows /= np.sqrt((rows**2).sum(1, keepdims=True))
    pairs = np.triu_indices(12, 1)
    apart = ((rows[pairs[0]] - rows[pairs[1]]) ** 2).sum(1)
    one = senses[pairs[0]] == senses[pairs[1]]
    alike = apart[one][:, None] < apart[~one]
    assert sense_separation(view, senses)[2] == pytest.approx(alike.mean(), abs=0.02)


def test_views_that_are_not_finite_are_refused():
    with pytest.raises(UserError, match="NaN or infinity"):
        sense_separation(np.full((4, 2), np.nan), np.array([*"aabb"]))


def test_senses_planted_in_one_layer_are_found_there_alone():
    some, random = asked(table_of(60, 3, 4), 1), np.random.default_rng(2)
    noise = random.standard_normal((len(some), 8))
    word, sense = (pd.factorize(some[name])[0] for name in ("word", "sense"))
    vectors = 9 * random.standard_normal((200, 8))
    views = np.stack([np.tile(vectors[word], 1), vectors[word] + noise, vectors[sense] + noise])
    found = pd.DataFrame(rows(views, some)).set_index(["property", "layer"])
    assert (found["n"] == 60).all()
    assert found.loc[("nearest", 2), "value"] > 0.95 and found.loc[("pairs", 2), "value"] > 0.95
    for layer in (0, 1):  # the same vectors, and noise
        low, high = found.loc[("nearest", layer), ["ci_low", "ci_high"]]
        assert low < 0 < high
    assert found.loc[("pairs", 0), "value"] == 0.5
    assert found.loc[("pairs", 1), "ci_low"] < 0.5 < found.loc[("pairs", 1), "ci_high"]


def test_of_few_words_nothing_is_said():
    for n in (0, NEEDED - 1, NEEDED):
        some = asked(table_of(n), 1)
        found = pd.DataFrame(rows(np.random.default_rng(1).random((2, len(some), 4)), some))
        assert found["value"].notna().all() == (n == NEEDED) and (found["n"] == n).all()


@pytest.mark.on_a_gpu("measure wordnet")
@pytest.mark.parametrize("name", ["lm", "mt"])
def test_the_program(name, measure, tmp_path):
    """By brute force: each example alone through the model. The word before tells the sense."""
    words = [f"w{a}{b}" for a in "abcde" for b in "abcd"]
    texts = [f"the {' '.join(words)} in on of is open x"] * 9
    tokenizer, files = trained_on(texts, tmp_path)
    model = tiny.drawn(name, vocab=tokenizer.get_vocab_size())
    sides = ["source", "target"] if name == "mt" else ["source"]
    save(model, dict.fromkeys(sides, files["word_tokenizer"]), tmp_path / "model")
    lines = [
        f'0000{i:02}{sense}0 14 n 01 {word} 0 000 | "{before} {word} is on"; "x {before} {word} of"'
        for i, word in enumerate(words)
        for sense, before in enumerate(("in", "on"))
    ]
    folder = folder_of(tmp_path / "dict", nouns="\n".join(lines) + "\n", adjectives="")
    run = {"objective": name, "seed": 1}
    options = {"folder": str(folder), "seen": 9, "seed": 1, "content": ""}
    table = tmp_path / "wordnet.csv"
    measure("wordnet", run, options, model=tmp_path / "model", table=table, **files)
    found = pd.read_csv(table)
    assert (found["n"] == NEEDED).all() and (found["n_needed"] == NEEDED).all()
    some = asked(examples(folder), 1)
    subject = subjects.load(tmp_path / "model")
    expected = [*rows(alone(subject, tokenizer, some), some)]
    assert len(found) == len(expected) == 2 * (model.config.encoder_layers + 1)
    assert found["value"].tolist() == pytest.approx([row["value"] for row in expected])
    options["seen"] = 10
    measure("wordnet", run, options, model=tmp_path / "model", table=table, **files)
    assert (pd.read_csv(table)["n"] == 0).all()


def alone(subject, tokenizer, some):
    """The states of the last sub-word of each word, `[layers + 1, n, d_model]`."""
    found = []
    for text, end in zip(some["text"], some["end"], strict=True):
        encoding = tokenizer.encode(text)
        last = max(i for i, (start, _) in enumerate(encoding.offsets[:-1]) if start < end)
        layers = subject.hidden_states(torch.tensor([encoding.ids]))
        found.append([layer[0, last].numpy() for layer in layers])
    return np.array(found).swapaxes(0, 1)
