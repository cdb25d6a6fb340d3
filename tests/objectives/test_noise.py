import numpy as np
import pytest

from bottomup import objectives
from bottomup.corpus.specials import EOS, N_SPECIAL, PAD

VOCAB_SIZE = 5000
SOURCE = np.where(np.arange(40) < 38, np.arange(40) + 10, np.where(np.arange(40) < 39, EOS, PAD))
SOURCE = np.tile(SOURCE, (500, 1))
TARGET = np.tile([9, 8, EOS], (500, 1))


def examples(name, **options):
    noisy, clean = objectives.load(f"{name}_noise", options), objectives.load(name, {})
    return (
        objective.example(SOURCE, TARGET, VOCAB_SIZE, np.random.default_rng(1))
        for objective in (noisy, clean)
    )


@pytest.mark.parametrize("name", ["lm", "mt"])
def test_what_is_predicted_is_what_it_is_without_noise(name):
    noisy, clean = examples(name)
    assert np.array_equal(noisy.labels, clean.labels)
    assert (noisy.target is None) == (clean.target is None)
    assert clean.target is None or np.array_equal(noisy.target, clean.target)
    noisy, clean = (objectives.load(each, {}) for each in (f"{name}_noise", name))
    assert (noisy.causal, noisy.predicts, noisy.label_smoothing) == (
        clean.causal,
        clean.predicts,
        clean.label_smoothing,
    )


@pytest.mark.parametrize("name", ["lm", "mt"])
def test_a_share_of_the_tokens_is_read_as_any_token(name):
    noisy, _ = examples(name)
    replaced = noisy.source != SOURCE
    # Binomial, 19,000 tokens: a standard deviation of 0.0022; one draw in 5,000 hits the token.
    assert replaced[:, :38].mean() == pytest.approx(0.1, abs=0.01)
    drawn = noisy.source[replaced]
    assert drawn.min() >= N_SPECIAL and drawn.max() < VOCAB_SIZE
    # Uniform: the mean of 1,900 draws from 0 to V varies by V / sqrt(12 x 1,900).
    assert drawn.mean() == pytest.approx(VOCAB_SIZE / 2, abs=4 * VOCAB_SIZE / (12 * 1900) ** 0.5)


@pytest.mark.parametrize("name", ["lm", "mt"])
def test_the_end_of_a_sentence_and_padding_stay(name):
    noisy, _ = examples(name, replace=1.0)
    assert (noisy.source[:, :38] != SOURCE[:, :38]).mean() > 0.99
    assert np.array_equal(noisy.source[:, 38:], SOURCE[:, 38:])
