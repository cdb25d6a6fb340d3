import numpy as np
import pytest

from bottomup import objectives
from bottomup.corpus.specials import EOS, MASK, N_SPECIAL, PAD
from bottomup.objectives import IGNORE
from tests.tiny import plausible

VOCAB = 104


def examples(n, length, **options):
    """Of `n` sentences of `length` tokens, </s> and one of padding: (objective, source, example)"""
    tokens = np.random.default_rng(0).integers(N_SPECIAL, VOCAB, (n, length))
    source = np.concatenate([tokens, np.array([[EOS, PAD]]).repeat(n, axis=0)], axis=1)
    objective = objectives.load("diffusion", options)
    return objective, source, objective.example(source, None, VOCAB, np.random.default_rng(1))


def test_what_is_predicted_is_hidden_and_nothing_else_changes():
    _, source, read = examples(1000, 100)
    hidden = read.labels != IGNORE
    assert (read.source[hidden] == MASK).all()
    assert np.array_equal(read.source[~hidden], source[~hidden])
    assert np.array_equal(read.labels[hidden], source[hidden])
    assert not hidden[:, 100:].any()
    assert read.target is None


def test_shares_are_even_on_a_logarithmic_scale():
    """So each tenfold has equally many sentences."""
    _, _, read = examples(4000, 2000, least=0.01)
    share = (read.labels != IGNORE).sum(1) / 2000
    assert plausible(int((share < 0.1).sum()), 4000, 0.5)
    assert plausible(int((share < 10**-0.5).sum()), 4000, 0.75)
    assert share.min() < 0.015 and share.max() > 0.95


def test_predictions_a_token_are_the_mean_share():
    objective, _, read = examples(20_000, 50)
    assert read.predicted / (20_000 * 50) == pytest.approx(objective.predictions_a_token, rel=0.03)


def test_the_scaled_sum_of_losses_is_the_loss_of_predicting_one_after_another():
    """The bound is that of all orders of prediction: each number of tokens seen comes once.

    So for a model whose loss is c(k) with k tokens seen it is the sum of c over k.
    """
    length, least = 4, 0.001
    loss = np.array([5.0, 3.0, 2.0, 1.5])  # with 0, 1, 2 or 3 tokens seen
    objective, _, read = examples(200_000, length, least=least)
    hidden = (read.labels != IGNORE).sum(1)
    found = np.where(hidden > 0, hidden * loss[length - np.maximum(hidden, 1)], 0)
    error = objective.scale * found.std() / len(found) ** 0.5
    # What lies below the smallest share is left out: the losses with all others seen.
    expected = loss.sum() - length * least * loss[-1]
    assert abs(objective.scale * found.mean() - expected) < 4 * error
    assert error < 0.1
