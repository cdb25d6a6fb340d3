import numpy as np
import pytest

from bottomup.core.errors import UserError
from bottomup.corpus import drawn
from bottomup.corpus.sources import fetch
from bottomup.corpus.sources.brackets import Options
from bottomup.measures import hidden_markov

TINY = {"kinds": 2, "depth": 2, "words": 9, "recoded": 2, "shortest": 5, "longest": 12}
OPTIONS = Options(**TINY, sentences=4000)


@pytest.fixture(scope="module")
def text():
    states, words, _ = drawn.draw(OPTIONS)
    return states, words


def kinds_of_words():
    """The kind of word that each word is, from what makes it."""
    emission, kinds = OPTIONS.language.emission, [kind for _, kind in OPTIONS.states]
    return np.array([kinds[state] for state in emission.argmax(axis=0)])


def test_states_of_one_kind_by_hand():
    """Open or not; at most one, so what is open can only close."""
    one = Options(kinds=1, depth=1, between=0.4, words=3, recoded=2)
    assert one.states == [((), 0), ((), 2), ((1,), 0), ((1,), 1)]
    language = one.language
    closed, opened = [0.4, 0, 0, 0.6], [0, 0.6, 0.4, 0]
    assert language.transition == pytest.approx(np.array([closed, closed, opened, opened]))
    assert language.start == pytest.approx([0.2, 0.3, 0.2, 0.3])
    between, closing, also_between, opening = language.emission
    assert np.array_equal(between, also_between)
    # Each kind has one of the three words.
    assert np.array_equal(sum([between, closing, opening]), np.ones(3))
    assert set(language.emission.ravel()) == {0, 1}


def test_a_bracket_closes_the_one_that_opened_last(text):
    """Read word by word, as one reads brackets; where a piece began inside, from what was open."""
    states, words = text
    kinds = kinds_of_words()
    for path, sentence in zip(states[:500], words[:500], strict=True):
        open_ = list(OPTIONS.states[path[0]][0])
        for state, word in zip(path[1:], sentence[1:], strict=True):
            kind = kinds[word]
            if 1 <= kind <= 2:
                open_.append(kind)
            elif kind > 2:
                assert open_.pop() == kind - 2
            assert len(open_) <= 2
            assert OPTIONS.states[state] == (tuple(open_), kind)


def test_words_are_as_frequent_as_declared(text):
    states, words = text
    kinds = kinds_of_words()[words[:, 1:]]
    assert (kinds == 0).mean() == pytest.approx(OPTIONS.between, abs=0.01)
    depths = np.array([len(open_) for open_, _ in OPTIONS.states])[states[:, :-1]]
    opens = (kinds == 1) | (kinds == 2)
    shares = [opens[depths == depth].mean() for depth in range(3)]
    assert shares == pytest.approx([0.7, 0.35, 0], abs=0.015)
    assert (kinds == 1).mean() == pytest.approx((kinds == 2).mean(), abs=0.01)


def test_who_knows_the_language_knows_how_a_bracket_closes():
    """What opened last is told by all words before, however far away; the next word is not."""
    deep = Options(**TINY | {"words": 5, "recoded": 2, "between": 0.9})
    language = deep.language
    kinds = [kind for _, kind in deep.states]
    word = {kind: language.emission[kinds.index(kind)].argmax() for kind in range(5)}
    between = [word[0]] * 8
    for opened, closed in ((1, 3), (2, 4)):
        sentence = np.array([[word[opened], *between, word[closed]]])
        left = hidden_markov.beliefs(language, sentence, hidden_markov.Channel()).left[0, -1]
        probable = left @ language.emission
        assert probable[word[closed]] > 0.04 and probable[word[7 - closed]] == pytest.approx(0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"words": 4}, r"allowed: words at least 2 x kinds \+ 1"),
        ({"kinds": 4, "depth": 5, "words": 20}, "found 4,093 states"),
        ({"kinds": 20, "depth": 8, "words": 50}, "found 80,842,105,261 states"),
        ({"recoded": 10}, "allowed: recoded <= words"),
    ],
)
def test_options_that_no_language_has(wrong, message, tmp_path):
    with pytest.raises(UserError, match=message):
        fetch("brackets", TINY | wrong, tmp_path)
