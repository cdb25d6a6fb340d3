"""Which tokens are hidden and asked for, and sums against a loop over single readings."""

import numpy as np
import pytest
import torch
from pydantic import PrivateAttr

from bottomup import objectives
from bottomup.corpus.specials import MASK, PAD
from bottomup.corpus.tokens import NO_WORD
from bottomup.heads.predictor import sentence_losses
from bottomup.measures.log_probability import (
    HIDDEN,
    NEXT,
    Mode,
    log_probabilities,
    mode_of,
    of_sentence,
    of_word,
)
from bottomup.objectives import IGNORE, mlm
from tests.tiny import drawn, random_tokens

# The second word has three sub-words, one token belongs to none, the last one is special.
WORDS = np.array([0, 1, 1, 1, NO_WORD, 2, NO_WORD])
SPECIAL = np.array([0, 0, 0, 0, 0, 0, 1], dtype=bool)
BOTH = Mode(hides=True, before=True)  # hidden tokens, each predicted at the place before it
MODES = {"lm": NEXT, "mlm": HIDDEN, "lm_bidirectional": BOTH, "mlm_causal": HIDDEN}


def shown(rows):
    return ["".join(".x"[int(one)] for one in row) for row in rows]


def test_word_l2r_hides_a_token_and_the_later_ones_of_its_word():
    hidden, asked = of_sentence(WORDS, SPECIAL, HIDDEN)
    assert shown(asked) == ["x......", ".x.....", "..x....", "...x...", "....x..", ".....x."]
    assert shown(hidden) == ["x......", ".xxx...", "..xx...", "...x...", "....x..", ".....x."]


def test_from_left_to_right_everything_but_the_first_token_is_asked_for():
    hidden, asked = of_sentence(WORDS, SPECIAL, NEXT)
    assert shown(asked) == [".xxxxxx"] and not hidden.any()


def test_what_is_predicted_at_the_place_before_is_never_the_first():
    hidden, asked = of_sentence(WORDS, SPECIAL, BOTH)
    assert shown(asked) == [".x.....", "..x....", "...x...", "....x..", ".....x."]
    assert shown(hidden) == [".xxx...", "..xx...", "...x...", "....x..", ".....x."]


@pytest.mark.parametrize("mode", [HIDDEN, NEXT])
def test_a_word_is_asked_for_as_a_whole(mode):
    hidden, asked = of_word(WORDS, 1, mode)
    assert shown(asked) == [".xxx..."]
    assert shown(hidden) == ["......." if mode is NEXT else ".xxx..."]


def mixed(*names):
    """Objectives in one model, looked at as the last of them."""
    parts = [{"objective": name, "share": 1 / len(names)} for name in names]
    return objectives.load("mix", {"parts": parts})


@pytest.mark.parametrize(
    ("objective", "mode"),
    [
        *((objectives.load(name, {}), NEXT) for name in ("lm", "lm_noise")),
        *((objectives.load(name, {}), HIDDEN) for name in ("mlm", "mlm_causal", "diffusion")),
        (objectives.load("lm_bidirectional", {}), BOTH),
        (mixed("lm", "lm_bidirectional"), BOTH),
        (mixed("lm", "mlm_causal"), HIDDEN),
        (mixed("mlm", "lm"), NEXT),
    ],
    ids=lambda one: one.name if isinstance(one, objectives.Objective) else "",
)
def test_an_objective_tells_where_tokens_are_predicted(objective, mode):
    """What a model sees does not: under MLM's targets with LM's mask, and LM's with MLM's, it is
    the other way round."""
    sizes = (20, 30_000)  # of vocabularies
    found = {mode_of(objective, causal, n) for causal in (True, False) for n in sizes}
    assert found == {mode}


def test_translation_lm_predicts_as_mlm():
    objective = objectives.load("tlm", {})
    objective.learn_types([""] * 30)
    assert mode_of(objective, causal=False, n_types=30) == HIDDEN


def test_what_is_not_trained_is_asked_by_its_mask():
    assert mode_of(objectives.load("untrained", {}), causal=False, n_types=30) == HIDDEN
    assert mode_of(objectives.load("untrained_causal", {}), causal=True, n_types=30) == NEXT


class OfRareTypes(mlm.Objective):
    """MLM that chooses tokens by their types, and hides them by a mark of its own."""

    _share: np.ndarray = PrivateAttr()

    def learn_types(self, types):
        self._share = np.linspace(0.0, 0.3, len(types))

    def vocabularies(self, sizes):
        read, predicted = super().vocabularies(sizes)
        return read + 1, predicted

    def chosen(self, source, rng):
        return super().chosen(source, rng) & (rng.random(source.shape) < self._share[source])

    def corrupt(self, source, chosen, vocab_size, rng):
        return np.where(chosen, len(self._share), source)


def test_an_objective_that_knows_its_types_is_asked_about_no_others():
    objective = OfRareTypes()
    objective.learn_types(["a"] * 30)
    assert mode_of(objective, causal=False, n_types=30) == HIDDEN


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


def brute_force(model, name, ids, words, only=None):
    """The sum over tokens, each from a reading of its own and a softmax; only: one word."""
    total, hides, before = 0.0, name != "lm", name in ("lm", "lm_bidirectional")
    for place in range(int(before), len(ids) - hides):
        if only is not None and words[place] != only:
            continue
        read, at = ids.copy(), place - before
        if not hides:
            read = read[:place]
        else:
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
@pytest.mark.parametrize("name", MODES)
def test_sums_are_those_of_single_readings(name, whole, batch_tokens):
    model, mode = drawn(name), MODES[name]
    text = in_words(random_tokens(12, 3, low=4, high=9))
    parts = [
        (text.sentence(i), text.words[start:end])
        for i, (start, end) in enumerate(zip(text.offsets[:-1], text.offsets[1:], strict=True))
    ]
    verbs = [words[2] for _, words in parts]
    if whole:
        asked = [of_sentence(words, words == NO_WORD, mode) for _, words in parts]
    else:
        asked = [of_word(words, verb, mode) for (_, words), verb in zip(parts, verbs, strict=True)]
        if mode.before:  # the first token is never asked for
            asked = [
                type(of)(of.hidden, of.asked & (np.arange(of.asked.shape[1]) > 0)) for of in asked
            ]
    with torch.no_grad():
        found = log_probabilities(losses_of(model), text, asked, mode, MASK, PAD, batch_tokens)
    expected = [
        brute_force(model, name, ids, words, None if whole else verb)
        for (ids, words), verb in zip(parts, verbs, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_without_sentences_there_is_nothing():
    text = random_tokens(0)
    assert log_probabilities(lambda example: None, text, [], NEXT, None, PAD, 8).tolist() == []
