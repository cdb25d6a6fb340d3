"""Which tokens are hidden and asked for, and sums against a loop over single readings."""

import numpy as np
import pytest
import torch

from bottomup.corpus.encoding import NO_WORD
from bottomup.corpus.specials import MASK, PAD
from bottomup.heads.predictor import sentence_losses
from bottomup.measures.log_probability import log_probabilities, of_sentence, of_word
from bottomup.objectives import IGNORE
from tests.tiny import drawn, random_tokens

# The second word has three sub-words, one token belongs to none, the last one is special.
WORDS = np.array([0, 1, 1, 1, NO_WORD, 2, NO_WORD])
SPECIAL = np.array([0, 0, 0, 0, 0, 0, 1], dtype=bool)


def shown(rows):
    return ["".join(".x"[int(one)] for one in row) for row in rows]


def test_word_l2r_hides_a_token_and_the_later_ones_of_its_word():
    hidden, asked = of_sentence(WORDS, SPECIAL, causal=False)
    assert shown(asked) == ["x......", ".x.....", "..x....", "...x...", "....x..", ".....x."]
    assert shown(hidden) == ["x......", ".xxx...", "..xx...", "...x...", "....x..", ".....x."]


def test_from_left_to_right_everything_but_the_first_token_is_asked_for():
    hidden, asked = of_sentence(WORDS, SPECIAL, causal=True)
    assert shown(asked) == [".xxxxxx"] and not hidden.any()


@pytest.mark.parametrize("causal", [False, True])
def test_a_word_is_asked_for_as_a_whole(causal):
    hidden, asked = of_word(WORDS, 1, causal)
    assert shown(asked) == [".xxx..."]
    assert shown(hidden) == ["......." if causal else ".xxx..."]


def losses_of(model):
    def losses(example):
        labels = torch.from_numpy(example.labels)
        states = model(torch.from_numpy(example.source))
        return sentence_losses(model.head(states[labels != IGNORE]), labels)[0]

    return losses


def in_words(text, seed=0):
    """The same text, with words of one to three sub-words."""
    rng = np.random.default_rng(seed)
    words = text.words.copy()
    for start, end in zip(text.offsets[:-1], text.offsets[1:] - 1, strict=True):
        words[start:end] = np.sort(rng.integers(0, max(1, (end - start) // 2), end - start))
    return type(text)(text.ids, words, text.offsets)


def brute_force(model, causal, ids, words, only=None):
    """The sum over tokens, each from a reading of its own and a softmax; only: one word."""
    total = 0.0
    for place in range(int(causal), len(ids) - (not causal)):
        if only is not None and words[place] != only:
            continue
        read = ids.copy()
        if causal:
            read, at = read[:place], place - 1
        else:
            at = place
            for later in range(len(ids)):
                after = words[later] == words[place] and later >= place
                if (words[later] == only) if only is not None else after:
                    read[later] = MASK
        with torch.no_grad():
            states = model(torch.tensor(read[None].astype(np.int64)))
            total += float(model.head(states[0, at]).log_softmax(0)[ids[place]])
    return total


@pytest.mark.parametrize("batch_tokens", [8, 2048])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", ["lm", "mlm"])
def test_sums_are_those_of_single_readings(name, whole, batch_tokens):
    model, causal = drawn(name), name == "lm"
    text = in_words(random_tokens(12, 3, low=4, high=9))
    parts = [
        (text.sentence(i), text.words[start:end])
        for i, (start, end) in enumerate(zip(text.offsets[:-1], text.offsets[1:], strict=True))
    ]
    verbs = [words[2] for _, words in parts]
    if whole:
        asked = [of_sentence(words, words == NO_WORD, causal) for _, words in parts]
    else:
        asked = [
            of_word(words, verb, causal) for (_, words), verb in zip(parts, verbs, strict=True)
        ]
        if causal:  # the first token is never asked for
            asked = [
                type(of)(of.hidden, of.asked & (np.arange(of.asked.shape[1]) > 0)) for of in asked
            ]
    with torch.no_grad():
        found = log_probabilities(losses_of(model), text, asked, causal, MASK, PAD, batch_tokens)
    expected = [
        brute_force(model, causal, ids, words, None if whole else verb)
        for (ids, words), verb in zip(parts, verbs, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_without_sentences_there_is_nothing():
    text = random_tokens(0)
    assert log_probabilities(lambda example: None, text, [], True, None, PAD, 8).tolist() == []
