import numpy as np
import pytest
from pydantic import ValidationError

from bottomup import objectives
from bottomup.corpus.specials import EOS, MASK, N_SPECIAL, PAD
from bottomup.objectives import IGNORE
from tests.tiny import plausible

VOCAB = 104
OPTIONS = {"choose": 0.15, "mask": 0.8, "replace": 0.1}


@pytest.fixture(scope="module")
def source():
    """1,000 sentences of 100 tokens, </s>, and two of padding."""
    tokens = np.random.default_rng(0).integers(N_SPECIAL, VOCAB, (1000, 100))
    end = np.array([[EOS, PAD, PAD]]).repeat(1000, axis=0)
    return np.concatenate([tokens, end], axis=1)


def example(source, seed=0, **options):
    objective = objectives.load("mlm", OPTIONS | options)
    return objective.example(source, None, VOCAB, np.random.default_rng(seed))


def test_rates_are_the_options(source):
    read = example(source)
    chosen = read.labels != IGNORE
    masked = read.source == MASK
    changed = read.source != source
    n = int(chosen.sum())
    assert plausible(n, 100_000, 0.15)
    assert plausible(int(masked.sum()), n, 0.8)
    # A replacement is the token itself once in 100.
    assert plausible(int((changed & ~masked).sum()), n, 0.1 * 0.99)
    assert plausible(int((chosen & ~changed).sum()), n, 0.1 + 0.1 * 0.01)


def test_replacements_are_uniform_over_the_words(source):
    read = example(source, choose=0.9, mask=0.0, replace=1.0)
    drawn = read.source[read.labels != IGNORE]
    counts = np.bincount(drawn, minlength=VOCAB)
    assert not counts[:N_SPECIAL].any()
    assert all(plausible(count, len(drawn), 1 / 100) for count in counts[N_SPECIAL:])


def test_only_the_chosen_are_predicted_and_only_they_change(source):
    read = example(source)
    chosen = read.labels != IGNORE
    assert np.array_equal(read.labels[chosen], source[chosen])
    assert np.array_equal(read.source[~chosen], source[~chosen])
    assert read.target is None


def test_end_and_padding_are_never_chosen(source):
    read = example(source, choose=0.99)
    assert (read.labels[:, 100:] == IGNORE).all()
    assert np.array_equal(read.source[:, 100:], source[:, 100:])


def test_the_generator_decides(source):
    assert np.array_equal(example(source, 1).source, example(source, 1).source)
    assert not np.array_equal(example(source, 1).source, example(source, 2).source)


def test_the_text_is_left_alone(source):
    before = source.copy()
    example(source)
    assert np.array_equal(source, before)


def test_masked_and_replaced_are_shares_of_the_chosen(source):
    assert not (example(source, mask=0.7, replace=0.3).source == source).all()
    with pytest.raises(ValidationError, match="must not exceed 1"):
        objectives.load("mlm", {"mask": 0.8, "replace": 0.3})


def test_a_paper_s_shares_are_the_default():
    """Devlin et al. 2019: 15 % are predicted, of which 80 % are hidden and 10 % replaced."""
    default = objectives.load("mlm", {})
    assert (default.choose, default.mask, default.replace) == (0.15, 0.8, 0.1)
