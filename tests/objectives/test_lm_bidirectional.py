import numpy as np
import pytest
import torch

from bottomup import objectives
from bottomup.corpus.specials import EOS, MASK, N_SPECIAL, PAD
from bottomup.objectives import IGNORE
from bottomup.training.loss import summed_loss
from tests.tiny import VOCAB, drawn, plausible

WORDS = 100
N_TOKENS = 104
HIDDEN = {"mask": 1.0, "replace": 0.0}


@pytest.fixture(scope="module")
def source():
    """1,000 sentences of 100 different tokens in any order, </s>, and two of padding."""
    order = np.random.default_rng(0).random((1000, WORDS)).argsort(axis=1)
    end = np.array([[EOS, PAD, PAD]]).repeat(1000, axis=0)
    return np.concatenate([order + N_SPECIAL, end], axis=1)


def example(source, seed=0, objective="lm_bidirectional", **options):
    loaded = objectives.load(objective, options)
    return loaded.example(source, None, N_TOKENS, np.random.default_rng(seed))


def predicted(read):
    """Which tokens are predicted, at the places where they stand."""
    places = np.zeros(read.labels.shape, dtype=bool)
    places[:, 1:] = read.labels[:, :-1] != IGNORE
    return places


def test_labels_stand_one_position_before_the_hidden_token(source):
    read = example(source, **HIDDEN)
    hidden = predicted(read)
    assert np.array_equal(hidden, read.source == MASK) and hidden.any()
    assert np.array_equal(read.labels[:, :-1][hidden[:, 1:]], source[hidden])
    assert (read.labels[:, -1] == IGNORE).all()
    assert read.target is None


def test_a_hidden_token_is_read_nowhere(source):
    """No token stands twice in these sentences."""
    read = example(source, **HIDDEN)
    for row, labels in zip(read.source, read.labels, strict=True):
        assert not np.isin(labels[labels != IGNORE], row).any()


def test_what_is_read_does_not_tell_what_is_hidden(source):
    """Other tokens under the masks: the same is read, and something else predicted."""
    read = example(source, **HIDDEN)
    hidden = predicted(read)
    other = example(
        np.where(hidden, (source - N_SPECIAL + 1) % WORDS + N_SPECIAL, source), **HIDDEN
    )
    assert np.array_equal(other.source, read.source)
    asked = read.labels != IGNORE
    assert np.array_equal(other.labels != IGNORE, asked)
    assert (other.labels[asked] != read.labels[asked]).all()


def test_tokens_that_are_not_predicted_are_read_as_they_are(source):
    read = example(source)
    assert np.array_equal(read.source[~predicted(read)], source[~predicted(read)])


def test_the_first_token_is_neither_hidden_nor_predicted(source):
    read = example(source, choose=0.99, **HIDDEN)
    assert np.array_equal(read.source[:, 0], source[:, 0])
    # Each token stands once, so the first one is no label at any position.
    assert not (read.labels == source[:, :1]).any()
    assert (read.labels[:, 0] == source[:, 1]).mean() > 0.95


def test_end_and_padding_are_neither_hidden_nor_predicted(source):
    read = example(source, choose=0.99, **HIDDEN)
    assert not np.isin(read.labels, [EOS, PAD]).any()
    assert np.array_equal(read.source[:, WORDS:], source[:, WORDS:])
    # From the last word on there is nothing to predict.
    assert (read.labels[:, WORDS - 1 :] == IGNORE).all()


def test_shares_are_the_options(source):
    read = example(source, choose=0.15, mask=0.8, replace=0.1)
    n = int(predicted(read).sum())
    masked, changed = read.source == MASK, read.source != source
    assert plausible(n, 1000 * (WORDS - 1), 0.15)
    assert plausible(int(masked.sum()), n, 0.8)
    # A replacement is the token itself once in 100.
    assert plausible(int((changed & ~masked).sum()), n, 0.1 * 0.99)
    assert plausible(int((predicted(read) & ~changed).sum()), n, 0.1 + 0.1 * 0.01)


def test_it_hides_what_mlm_hides(source):
    """The first token apart; so the two differ in where a token is predicted, not in which."""
    ours, mlms = example(source, 3), example(source, 3, "mlm")
    assert np.array_equal(ours.source[:, 1:], mlms.source[:, 1:])
    assert np.array_equal(ours.labels[:, :-1], mlms.labels[:, 1:])


def test_it_predicts_where_lm_does_and_the_same(source):
    ours, lms = example(source), example(source, objective="lm")
    asked = ours.labels != IGNORE
    assert np.array_equal(ours.labels[asked], lms.labels[asked])


def test_the_text_is_left_alone(source):
    before = source.copy()
    example(source)
    assert np.array_equal(source, before)


@pytest.mark.parametrize("rows", [[[7, EOS]], [[EOS]], [[7, EOS, PAD], [8, EOS, PAD]]])
def test_of_too_short_sentences_nothing_is_predicted(rows):
    rows = np.array(rows)
    read = example(rows, choose=0.99)
    assert np.array_equal(read.source, rows) and (read.labels == IGNORE).all()
    loss, count = summed_loss(drawn("lm_bidirectional"), read, smoothing=0.0)
    assert (loss.item(), count) == (0.0, 0)
    loss.backward()


def test_each_state_sees_both_sides():
    """The position that is to predict, too, sees all but what is hidden."""
    model = drawn("lm_bidirectional")
    ids = torch.arange(N_SPECIAL, N_SPECIAL + 6)[None]
    before = model(ids)
    for place in range(6):
        other = ids.clone()
        other[0, place] = VOCAB - 1
        assert (model(other) != before).any(dim=2).all()
