import tracemalloc

import numpy as np
import pytest

from bottomup.core.errors import UserError
from bottomup.core.seeds import generator
from bottomup.corpus import drawn
from bottomup.corpus.sources import fetch
from bottomup.corpus.sources.hidden_markov import Options

TINY = {"states": 3, "words": 6, "recoded": 2, "concentration": 1.0, "shortest": 3, "longest": 7}
OPTIONS = Options(**TINY, sentences=20_000)


@pytest.fixture(scope="module")
def text():
    return drawn.draw(OPTIONS)


def test_a_language_is_made_of_probabilities_and_starts_as_it_goes_on():
    language = OPTIONS.language
    for rows in (language.transition, language.emission, language.start[None]):
        assert (rows >= 0).all() and rows.sum(1) == pytest.approx(1)
    assert language.start @ language.transition == pytest.approx(language.start)
    assert language.words.sum() == pytest.approx(1)


def test_states_and_words_are_as_frequent_as_declared_at_each_place(text):
    states, words, lengths = text
    language = OPTIONS.language
    for place in (0, 1, 6):
        shares = np.bincount(states[:, place], minlength=3) / len(states)
        assert shares == pytest.approx(language.start, abs=0.02)
    for state in range(3):
        made = words[states == state]
        follows = states[:, 1:][states[:, :-1] == state]
        assert np.bincount(made, minlength=6) / len(made) == pytest.approx(
            language.emission[state], abs=0.02
        )
        assert np.bincount(follows, minlength=3) / len(follows) == pytest.approx(
            language.transition[state], abs=0.02
        )
    assert np.bincount(lengths)[3:] / len(lengths) == pytest.approx(0.2, abs=0.02)


def test_a_value_is_the_first_whose_cumulative_probability_reaches_the_number_drawn():
    """Value by value, from the same random numbers."""
    options = Options(**TINY, sentences=100)
    language, random = options.language, generator(options.seed, "text")
    lengths = random.integers(3, 7, 100, endpoint=True)

    def value(probabilities, number):
        sums = np.cumsum(probabilities)
        return next(n for n, reached in enumerate(sums) if reached >= number * sums[-1])

    states, words = [], []
    for place in range(7):
        given = (
            [language.transition[row] for row in states[-1]] if place else [language.start] * 100
        )
        states.append([*map(value, given, random.random(100))])
        words.append([*map(value, language.emission[states[-1]], random.random(100))])
    for found, expected in zip(drawn.draw(options), (states, words, lengths), strict=True):
        assert found.T.tolist() == np.array(expected).tolist()


def test_memory_holds_no_probabilities_for_each_sentence():
    """Those of words would be 72 MB here."""
    options = Options(**TINY | {"words": 9000}, sentences=1000)
    tracemalloc.start()
    drawn.draw(options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6


def test_a_concentration_makes_states_alike_or_sure_of_what_follows():
    def spread(concentration):
        some = Options(**TINY | {"states": 10, "concentration": concentration})
        return some.language.transition.max(1).mean()

    assert spread(100.0) < 0.3 < 0.8 < spread(0.01)


def test_sentences_have_the_words_drawn_and_each_word_its_translation(text, tmp_path):
    found = fetch("hidden_markov", OPTIONS.model_dump(), tmp_path)
    _, words, lengths = text
    assert len(found) == 20_000 and found["document"].nunique() == 1000
    assert found["element"].tolist() == [str(number) for number in range(20_000)]
    forms = ["baba", "babe", "babi", "babo", "babu", "baca"]
    for row in (0, 1, 19_999):
        some = words[row, : lengths[row]]
        assert found["source"][row].split() == [forms[word] for word in some]
        # Two words of the translation, of even and of odd words.
        assert found["target"][row].split() == [["abab", "ebab"][word % 2] for word in some]


def test_no_word_is_also_one_of_the_translation_and_all_differ():
    every = drawn.forms(5000), drawn.recoded_forms(5000)
    assert len({form for some in every for form in some}) == 10_000


def test_one_language_alone(tmp_path):
    options = TINY | {"sentences": 100, "languages": ["en"]}
    assert [*fetch("hidden_markov", options, tmp_path)] == ["document", "element", "source"]


@pytest.mark.parametrize("wrong", [{"recoded": 7}, {"shortest": 8}])
def test_options_that_no_language_has(wrong, tmp_path):
    with pytest.raises(UserError, match="allowed: recoded <= words, and shortest <= longest"):
        fetch("hidden_markov", TINY | wrong, tmp_path)
