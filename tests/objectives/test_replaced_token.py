import numpy as np
import pytest

from bottomup import objectives
from bottomup.corpus.batches import Text
from bottomup.corpus.specials import EOS, N_SPECIAL, PAD
from bottomup.objectives import IGNORE
from bottomup.objectives.replaced_token import REPLACED
from bottomup.training.budget import predictions
from tests.tiny import VOCAB, initial, learned, plausible, random_text, tokens_of


def example(source, seed=0, **options):
    objective = objectives.load("replaced_token", options)
    return objective.example(np.array(source), None, 99, np.random.default_rng(seed))


def test_what_differs_is_replaced_and_nothing_else_is():
    source = random_text(200).batch(np.arange(200))[0]
    made = example(source, choose=0.5)
    tokens = (source != PAD) & (source != EOS)
    assert np.array_equal(made.labels == IGNORE, ~tokens)
    assert np.array_equal(made.labels == REPLACED, made.source != source)
    assert np.array_equal(made.source[~tokens], source[~tokens])
    assert (made.source[tokens] >= N_SPECIAL).all() and made.target is None
    # A token that is drawn in its own place is original: one in sixteen.
    share = 0.5 * (1 - 1 / (VOCAB - N_SPECIAL))
    assert plausible((made.labels == REPLACED).sum(), tokens.sum(), share)


def test_tokens_are_drawn_by_how_frequent_they_are():
    """Nine of ten tokens are of one type, so it takes nine of ten of the other's places."""
    source = np.array([[*[5] * 9, 6, EOS, PAD]] * 2000)
    made = example(source, choose=0.5)
    others = source == 6
    assert plausible((made.source[others] == 5).sum(), others.sum(), 0.5 * 0.9)
    assert set(np.unique(made.source)) == {PAD, EOS, 5, 6}


def test_a_sentence_of_nothing_stays():
    made = example([[EOS, PAD]], choose=0.99)
    assert made.source.tolist() == [[EOS, PAD]] and made.predicted == 0


def test_it_predicts_each_token_but_the_last():
    text = Text(tokens_of([[5] * 40] * 3))
    objective = objectives.load("replaced_token", {})
    made = example(text.batch(np.arange(3))[0])
    assert predictions(objective, text) == pytest.approx(made.predicted / (3 * 41))
    assert initial("replaced_token").head.out_features == 2


def test_it_learns_what_does_not_fit():
    """Each sentence is of one word, so a token that differs was replaced; of sentences that are
    drawn word by word nothing can be known but how many were."""
    words = np.repeat(np.arange(N_SPECIAL, 20)[:, None], 8, axis=1)
    source = np.pad(np.tile(words, (10, 1)), ((0, 0), (0, 1)), constant_values=EOS)
    made = example(source, choose=0.1)
    assert learned(initial("replaced_token"), made) < 0.05
    shuffled = np.random.default_rng(0).permuted(source[:, :-1], axis=None).reshape(160, 8)
    made = example(np.pad(shuffled, ((0, 0), (0, 1)), constant_values=EOS), choose=0.5)
    share = (made.labels == REPLACED).sum() / made.predicted
    expected = -(share * np.log(share) + (1 - share) * np.log(1 - share))
    assert learned(initial("replaced_token"), made, steps=20) == pytest.approx(expected, abs=0.03)
