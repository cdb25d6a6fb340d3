import numpy as np
import pytest

from bottomup import objectives
from bottomup.corpus.batches import Text
from bottomup.corpus.specials import EOS, MASK, N_SPECIAL, PAD
from bottomup.objectives import IGNORE
from bottomup.training.budget import predictions, read
from tests.tiny import initial, learned, tokens_of


class Given:
    """Draws that are given, one after the other."""

    def __init__(self, *orders):
        self.orders = [*orders]

    def permutation(self, of):
        order = self.orders.pop(0)
        assert len(order) == (of if isinstance(of, int | np.integer) else len(of))
        return np.array(order)


def example(source, seed=0, **options):
    objective = objectives.load("span_corruption", options)
    return objective.example(source, None, 99, np.random.default_rng(seed))


def test_by_hand():
    """Of ten tokens six are hidden, in two spans of two and four: cut after the second."""
    objective = objectives.load("span_corruption", {"hide": 0.6})
    given = Given([2, 1, 3, 4, 5], [9, 0, 9, 9, 1, 9])
    found, written = objective.parted(np.array([*range(10, 20), EOS, PAD]), given)
    assert found.tolist() == [10, MASK, 13, 14, MASK, 19, EOS]
    assert written.tolist() == [MASK, 11, 12, MASK, 15, 16, 17, 18, EOS]


def test_spans_are_written_and_the_rest_is_read():
    source = np.tile([*range(N_SPECIAL, 104), EOS], (50, 1))
    made = example(source)
    assert np.array_equal(made.labels, np.where(made.target == PAD, IGNORE, made.target))
    for row, spans in zip(made.source, made.target, strict=True):
        words = sorted([*row[row >= N_SPECIAL], *spans[spans >= N_SPECIAL]])
        assert words == [*range(N_SPECIAL, 104)]
        assert (spans >= N_SPECIAL).sum() == 15
        assert (row == MASK).sum() == (spans == MASK).sum() == 5
        starts = np.flatnonzero(spans[:20] == MASK)
        assert starts[0] == 0 and (np.diff(starts) > 1).all()  # no span is empty


@pytest.mark.parametrize("row", [[EOS], [5, EOS], [5, 6, EOS, PAD]])
def test_short_sentences(row):
    made = example(np.array([row]))
    hidden = min(len([i for i in row if i >= N_SPECIAL]), 1)
    assert (made.source >= N_SPECIAL).sum() + hidden == sum(i >= N_SPECIAL for i in row)
    assert (made.target >= N_SPECIAL).sum() == hidden and (made.labels == EOS).sum() == 1


def test_budgets_know_what_it_reads_and_writes():
    text = Text(tokens_of([[5] * 40] * 3))
    objective = objectives.load("span_corruption", {})
    made = example(text.batch(np.arange(3))[0])
    assert predictions(objective, text) == pytest.approx(made.predicted / (3 * 41))
    assert made.predicted == 3 * (6 + 2 + 1)
    assert read(objective, text) == pytest.approx((made.source != PAD).sum() / (3 * 41), rel=0.01)


def test_it_learns_a_hidden_word_from_those_beside_it():
    """Of sentences of one word each; where a span ends, and with it the sentence, is known, too."""
    words = np.repeat(np.arange(N_SPECIAL, 20)[:, None], 6, axis=1)
    source = np.pad(words, ((0, 0), (0, 1)), constant_values=EOS)
    assert learned(initial("span_corruption"), example(source), steps=60) < 0.05
