import numpy as np
import pytest

from bottomup import objectives
from bottomup.corpus.batches import Text
from bottomup.corpus.specials import EOS, MASK, N_SPECIAL, PAD
from bottomup.objectives import IGNORE
from bottomup.training.budget import operations, predictions
from tests.tiny import VOCAB, initial, learned, shape_of, tokens_of


class Given:
    """Draws that are given: lengths of spans, and which places are tokens or spans."""

    def __init__(self, lengths, order):
        self.lengths, self.order = lengths, order

    def poisson(self, mean, n):
        assert mean == 3
        return np.pad(self.lengths, (0, n - len(self.lengths)), constant_values=1)

    def permutation(self, of):
        if isinstance(of, np.ndarray):  # the lengths
            return of
        assert of == len(self.order)
        return np.array(self.order)


@pytest.mark.parametrize(
    ("lengths", "order", "read"),
    [
        # Of ten tokens three are hidden: in one span, whose end is cut off; in three of one token,
        # two side by side; and beside a span of none.
        ([7], [9, 9, 0, 9, 9, 9, 9, 9], [10, 11, MASK, 15, 16, 17, 18, 19]),
        ([1, 1, 1], [0, 9, 9, 1, 2, 9, 9, 9, 9, 9], [MASK, 11, 12, MASK, MASK, 15, 16, 17, 18, 19]),
        ([0, 3], [9, 0, 9, 9, 9, 9, 9, 9, 1], [10, MASK, 11, 12, 13, 14, 15, 16, MASK]),
    ],
)
def test_by_hand(lengths, order, read):
    objective = objectives.load("denoising", {})
    found, written = objective.parted(np.arange(10, 20), Given(lengths, order))
    assert found.tolist() == [*read, EOS]
    hidden = [token for token in range(10, 20) if token not in read]
    assert written[written != MASK].tolist() == [*hidden, EOS]
    assert (written == MASK).sum() == (found == MASK).sum() == len(lengths)


def test_no_end_of_a_sentence_has_the_span_that_is_cut_off():
    objective, rng = objectives.load("denoising", {}), np.random.default_rng(1)
    spans = [objective.lengths(20, rng) for _ in range(4000)]
    differences = [of_one[0] - of_one[-1] for of_one in spans if len(of_one) > 1]
    assert {sum(of_one) for of_one in spans} == {6}
    assert abs(np.mean(differences)) < 4 * np.std(differences) / len(differences) ** 0.5


def example(source, seed=0, **options):
    objective = objectives.load("denoising", options)
    return objective.example(source, None, 99, np.random.default_rng(seed))


def test_the_decoder_writes_the_whole_sentence():
    source = np.array([[5, 6, 7, 8, EOS], [9, EOS, PAD, PAD, PAD], [EOS, PAD, PAD, PAD, PAD]])
    made = example(source)
    assert np.array_equal(made.target, source)
    assert np.array_equal(made.labels, np.where(source == PAD, IGNORE, source))
    of_one, of_none = ([i for i in row if i != PAD] for row in made.source[1:].tolist())
    assert of_one in ([MASK, EOS], [MASK, MASK, EOS]) and of_none == [EOS]


def test_what_is_read_is_the_sentence_without_spans():
    """A share of the tokens is gone, the others are in order, and masks stand in their places."""
    source = np.tile([*range(N_SPECIAL, 54), EOS], (400, 1))
    read = [row[row != PAD] for row in example(source).source]
    spans = []
    for row in read:
        seen = row[row != MASK]
        assert len(seen) == 35 + 1 and (np.diff(seen[:-1]) > 0).all() and row[-1] == EOS
        gaps = np.diff(seen[:-1], prepend=N_SPECIAL - 1, append=54) - 1
        masks = np.diff(np.flatnonzero(np.append(row, 4) != MASK), prepend=-1)[: len(gaps)] - 1
        assert (masks[gaps > 0] > 0).all()
        spans.append((row == MASK).sum())
    # Mean length 3, but for the last span, which is cut off: half a span more.
    assert np.mean(spans) == pytest.approx(15 / 3 + 0.5, abs=0.3)


def test_budgets_know_what_it_reads_and_writes():
    """Each token once, the first and </s>, too; as MT into the same sentence, but for the spans."""
    text = Text(tokens_of([[5, 6, 7, 8, 9]]))
    mt, denoising = (objectives.load(name, {}) for name in ("mt", "denoising"))
    assert predictions(denoising, text) == 1
    size = shape_of(), {"source": VOCAB, "target": VOCAB}
    of_mt = operations(mt, Text(text.source, text.source), *size)
    kept = (2 - (2 / 3 + 1 / 2)) / 6  # of five tokens and </s> two go, in 7/6 spans
    encoder = 2 * (4 * 16 * 16 + 2 * 16 * 32)
    memory = 2 * 2 * 16 * 16
    assert operations(denoising, text, *size) == pytest.approx(of_mt - kept * (encoder + memory))


def test_its_model_is_that_of_mt_into_the_source():
    """Same encoder and decoder, to the byte; the encoder sees both sides."""
    ours, mts = initial("denoising", vocab=20), initial("mt", vocab=20)
    assert ours.config == mts.config


def test_all_hidden_it_is_a_language_model():
    """Then one token in sixteen is guessed, and the rest follows from it: ln(16) / 7 a token."""
    words = np.repeat(np.arange(N_SPECIAL, 20)[:, None], 6, axis=1)
    source = np.pad(words, ((0, 0), (0, 1)), constant_values=EOS)
    made = [example(source, seed, hide=0.99) for seed in range(4)]
    assert all((part.source != source[:, :1]).all() for part in made)
    found = learned(initial("denoising"), *made, steps=80)
    assert found == pytest.approx(np.log(16) / 7, abs=0.05)
