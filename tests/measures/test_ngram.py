"""The n-gram model against values by hand and another implementation of its formula."""

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest

from bottomup.corpus.specials import EOS, PAD
from bottomup.measures.ngram import Ngrams, before
from tests.tiny import random_tokens, tokens_of

A, B, C = 4, 5, 6


def by_dictionaries(text, order, vocab_size):
    """p(w | h) for any token and history, from counts of tuples; the same formula, other steps."""
    counts = [defaultdict(Counter) for _ in range(order)]  # by order: history -> token -> a
    stand_before = [defaultdict(set) for _ in range(order)]
    for i in range(len(text)):
        padded = [PAD] * (order - 1) + text.sentence(i).tolist()
        for end in range(order - 1, len(padded)):
            counts[-1][tuple(padded[end - order + 1 : end])][padded[end]] += 1
            for length in range(1, order):
                gram = tuple(padded[end - length + 1 : end + 1])
                stand_before[length - 1][gram].add(padded[end - length])
    for length in range(1, order):
        for gram, tokens in stand_before[length - 1].items():
            counts[length - 1][gram[:-1]][gram[-1]] = len(tokens)

    def discount(length):
        values = [a for of in counts[length - 1].values() for a in of.values()]
        once = values.count(1)
        return once / (once + 2 * values.count(2)) if once else 0.5

    def p(token, history):
        if history is None:
            return 1 / vocab_size
        shorter = p(token, history[1:] if history else None)
        of = counts[len(history)][history]
        if not of:
            return shorter
        d = discount(len(history) + 1)
        own = max(of[token] - d, 0)
        return (own + d * len(of) * shorter) / sum(of.values())

    return p


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_another_implementation(order):
    train, test = random_tokens(60, 1, vocab=70), random_tokens(40, 2, vocab=80)
    p = by_dictionaries(train, order, 80)
    found = Ngrams(train, order, 80).log_probabilities(test)
    expected = []
    for i in range(len(test)):
        padded = [PAD] * (order - 1) + test.sentence(i).tolist()
        for end in range(order - 1, len(padded)):
            expected.append(np.log(p(padded[end], tuple(padded[end - order + 1 : end]))))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_values_by_hand():
    """Of bigrams, A C and C </s> stand there once, A B and B </s> twice: d = 2 / (2 + 2 * 2) = 1/3.
    Before A stands padding, before B and C stands A, before </s> stand B and C: of unigrams three
    have one and one has two, d = 3 / (3 + 2 * 1) = 3/5."""
    text = tokens_of([[A, B], [A, B], [A, C]])
    found = np.exp(Ngrams(text, 2, 10).log_probabilities(tokens_of([[A, C], [B, A]])))
    unigram = {  # of five in all; four tokens leave 3/5 each to the uniform 1/10
        token: (max(a - 3 / 5, 0) + 3 / 5 * 4 / 10) / 5
        for token, a in {A: 1, B: 1, C: 1, EOS: 2}.items()
    }
    after_a = (1 - 1 / 3 + 1 / 3 * 2 * unigram[C]) / 3
    end_after_c = (1 - 1 / 3 + 1 / 3 * unigram[EOS]) / 1
    first_b = (0 + 1 / 3 * unigram[B]) / 3
    a_after_b = (0 + 1 / 3 * unigram[A]) / 2
    end_after_a = (0 + 1 / 3 * 2 * unigram[EOS]) / 3
    first_a = (3 - 1 / 3 + 1 / 3 * unigram[A]) / 3
    expected = [first_a, after_a, end_after_c, first_b, a_after_b, end_after_a]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_probabilities_of_all_tokens_add_up_to_one():
    model, vocab = Ngrams(random_tokens(40, 1, vocab=8), 3, 8), range(8)
    for history in product([A, B, 7], repeat=2):
        texts = tokens_of([[*history, token] for token in vocab])
        found = model.log_probabilities(texts).reshape(len(vocab), -1)[:, 2]
        assert np.exp(found).sum() == pytest.approx(1)


def test_a_text_without_rare_ngrams_leaves_something_to_others():
    text = tokens_of([[A, B]] * 5)
    found = Ngrams(text, 2, 10).log_probabilities(tokens_of([[A, B], [B, C]]))
    assert np.isfinite(found).all() and np.exp(found[1]) > 0.8 and np.exp(found[4]) < 0.1


def test_what_stands_before_a_token_is_of_its_sentence():
    found = before(tokens_of([[A, B], [C]]), 3)
    assert found.tolist() == [
        [A, B, EOS, C, EOS],
        [PAD, A, B, PAD, C],
        [PAD, PAD, A, PAD, PAD],
    ]


def test_a_text_of_fewer_tokens_than_the_order():
    """Before its first token is padding alone, as in any other text."""
    train = random_tokens(60, 1, vocab=70)
    long = train.select(np.array([0, 1]))
    model, short = Ngrams(train, 5, 80), tokens_of([[A]])
    together = model.log_probabilities(short.joined(long))[:2]
    np.testing.assert_array_equal(model.log_probabilities(short), together)
    assert before(short, 5)[1:, 0].tolist() == [PAD] * 4
