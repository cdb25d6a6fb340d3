"""Controls that predict a class of a token, which its type alone decides."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from bottomup import objectives
from bottomup.corpus.specials import EOS, MASK, N_SPECIAL, PAD
from bottomup.measures.quality import prediction_quality, predictions
from bottomup.objectives import IGNORE
from bottomup.objectives.first_letter import first
from tests.tiny import VOCAB, initial, learned, plausible, random_text

# By id; the first four are special. The letters of what follows are "t b b t - 7", and no letter.
TYPES = ["<pad>", "</s>", "<unk>", "<mask>", "▁the", "▁but", "Be", "two", "-", "▁7th", "▁", "é"]
LETTERS = [19, 1, 1, 19, 26, 27, 28, 28]
NAMES = ["first_letter", "random_label"]


def loaded(name, types=TYPES, **options):
    objective = objectives.load(name, options)
    objective.learn_types(types)
    return objective


def test_first_letters_by_hand():
    source = np.array([[*range(N_SPECIAL, 12), EOS], [4, EOS, *[PAD] * 7]])
    read = loaded("first_letter", choose=0.99).example(source, None, 12, np.random.default_rng(0))
    assert read.labels.tolist() == [[*LETTERS, IGNORE], [19, *[IGNORE] * 8]]
    assert read.source.tolist() == [[*[MASK] * 8, EOS], [MASK, EOS, *[PAD] * 7]]
    assert read.target is None


def test_first_letters_of_other_scripts():
    """By hand: an i; others that are no letters from a to z; a digit; and punctuation."""
    classes = {"İzin": 8, "ी": 28, "\u05b8": 28, "文": 28, "½": 28, "٣": 27, "。": 26, "😀": 26}
    assert {token: first(token) for token in classes} == classes


def test_random_labels_are_drawn_once_for_each_type():
    types = ["x"] * 3000
    source = np.tile(np.arange(N_SPECIAL, 3000), (2, 1))
    read = loaded("random_label", types, choose=0.99)
    first, second = (
        read.example(source, None, 3000, np.random.default_rng(seed)).labels for seed in (0, 1)
    )
    both = (first != IGNORE) & (second != IGNORE)
    assert np.array_equal(first[both], second[both])
    counts = np.bincount(first[first != IGNORE])
    assert len(counts) == 5
    assert all(plausible(count // 2, len(source[0]), 0.2 * 0.99) for count in counts)
    other = loaded("random_label", types, choose=0.99, seed=2)
    other = other.example(source, None, 3000, np.random.default_rng(0)).labels
    assert plausible(int((other == first)[0][both[0]].sum()), int(both[0].sum()), 0.2)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_is_mlm_s_with_every_chosen_token_hidden(name):
    text = random_text(50).batch(np.arange(50))
    types = ["a"] * VOCAB
    read = loaded(name, types).example(*text, VOCAB, np.random.default_rng(3))
    mlm = objectives.load("mlm", {"mask": 1.0, "replace": 0.0})
    expected = mlm.example(*text, VOCAB, np.random.default_rng(3))
    assert np.array_equal(read.source, expected.source)
    assert np.array_equal(read.labels != IGNORE, expected.labels != IGNORE)
    assert loaded(name, types).predictions_a_token == mlm.predictions_a_token == 0.15


@pytest.mark.parametrize("trunk", [None, "lstm"])
def test_the_output_layer_tells_classes_apart(trunk):
    assert initial("first_letter", trunk=trunk).head.out_features == 29
    assert initial("random_label", trunk=trunk).head.out_features == 5
    assert initial("mlm", trunk=trunk).head.out_features == VOCAB


def test_it_is_told_the_types_by_the_tokenizer():
    tokenizer = Tokenizer(WordLevel({token: i for i, token in enumerate(TYPES)}, "<unk>"))
    objective = objectives.load("first_letter", {"choose": 0.99}, tokenizer)
    source = np.array([[*range(N_SPECIAL, 12), EOS]])
    read = objective.example(source, None, 12, np.random.default_rng(0))
    assert read.labels.tolist() == [[*LETTERS, IGNORE]]


def test_a_model_that_knows_nothing_is_right_one_time_in_five():
    model = initial("random_label").eval()
    torch.nn.init.zeros_(model.head.weight)
    objective = loaded("random_label", ["a"] * VOCAB, choose=0.9)
    found = predictions(model, objective, random_text(400), 64, seed=1)
    scores = prediction_quality(found, objective, np.arange(400) % 2, 2)
    assert scores.keys() == {"perplexity", "class_accuracy"}
    assert scores["perplexity"].value == pytest.approx(5, rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_it_learns_the_class_and_no_more(name):
    """Each word stands twice: with one of them hidden its class is known, with both only how
    frequent classes are."""
    words = np.tile(np.arange(N_SPECIAL, 12), 20)
    source = np.stack([words, words, np.full(160, EOS)], axis=1)
    objective = loaded(name, choose=0.5)
    read = objective.example(source, None, 12, np.random.default_rng(0))
    n_hidden = (read.labels != IGNORE).sum(axis=1)
    one, both = (
        replace(read, source=read.source[n_hidden == n], labels=read.labels[n_hidden == n])
        for n in (1, 2)
    )
    shares = np.bincount(both.labels[both.labels != IGNORE]) / both.predicted
    shares = shares[shares > 0]
    assert learned(initial(name, vocab=12), one) < 0.05
    expected = -(shares * np.log(shares)).sum()
    assert learned(initial(name, vocab=12), both) == pytest.approx(expected, abs=0.02)
