import numpy as np
import pytest

from bottomup import objectives
from bottomup.corpus.batches import Text
from bottomup.corpus.specials import EOS, N_SPECIAL, PAD
from bottomup.objectives import IGNORE
from bottomup.training.budget import predictions, read
from tests.tiny import initial, learned, plausible, tokens_of


class Given:
    """Cuts that are given, one after the other."""

    def __init__(self, *cuts):
        self.cuts = [*cuts]

    def integers(self, end):
        cut = self.cuts.pop(0)
        assert cut < end
        return cut


def example(source, rng=None):
    objective = objectives.load("prefix_lm", {})
    return objective.example(np.array(source), None, 99, rng or np.random.default_rng(0))


def test_by_hand():
    """Sentences of three, one and two tokens, of which one, all and none are read."""
    source = [[5, 6, 7, EOS], [8, EOS, PAD, PAD], [9, 10, EOS, PAD]]
    made = example(source, Given(1, 1, 0))
    assert made.source.tolist() == [[5, EOS], [8, EOS], [EOS, PAD]]
    assert made.target.tolist() == [[6, 7, EOS], [EOS, PAD, PAD], [9, 10, EOS]]
    assert np.array_equal(made.labels, np.where(made.target == PAD, IGNORE, made.target))


def test_each_cut_is_as_probable():
    made = example(np.tile([5, 6, 7, EOS], (4000, 1)))
    read_tokens = (made.source >= N_SPECIAL).sum(axis=1)
    assert all(plausible((read_tokens == n).sum(), 4000, 1 / 4) for n in range(4))


def test_budgets_know_what_it_reads_and_writes():
    text = Text(tokens_of([[5] * 40] * 500))
    objective = objectives.load("prefix_lm", {})
    made = example(text.batch(np.arange(500))[0])
    assert predictions(objective, text) == pytest.approx(made.predicted / (500 * 41), rel=0.05)
    n_read = (made.source != PAD).sum()
    assert read(objective, text) == pytest.approx(n_read / (500 * 41), rel=0.1)


def test_what_is_read_tells_what_is_written():
    """Sentences of one word each: it is guessed, one in sixteen, only where nothing is read."""
    words = np.repeat(np.arange(N_SPECIAL, 20)[:, None], 3, axis=1)
    source = np.pad(words, ((0, 0), (0, 1)), constant_values=EOS)
    nothing, two = (example(source, Given(*[cut] * 16)) for cut in (0, 2))
    assert learned(initial("prefix_lm"), two, steps=60) < 0.05
    assert learned(initial("prefix_lm"), nothing) == pytest.approx(np.log(16) / 4, abs=0.05)
