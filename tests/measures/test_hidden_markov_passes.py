"""Exact passes against sums over all states and words of tiny sentences."""

from itertools import product

import numpy as np
import pytest

from bottomup.corpus.drawn import Language
from bottomup.measures import hidden_markov
from bottomup.measures.hidden_markov import OTHER, Channel

# It goes round, so what was before a state is not what follows it.
ROUND = np.array([[0.5, 0.4, 0.1], [0.1, 0.6, 0.3], [0.7, 0.1, 0.2]])
TINY = Language(
    ROUND,
    np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]),
    np.array([0, 1, 0]),
    (3, 4),
)
NOISY = Channel(0.7, 0.05)


def every(length):
    """All states and words of a sentence `[n, length]` each, and how probable both are `[n]`."""
    states, words = (np.array([*product(range(n), repeat=length)]) for n in (3, 3))
    z, x = np.repeat(states, len(words), axis=0), np.tile(words, (len(states), 1))
    steps = TINY.transition[z[:, :-1], z[:, 1:]].prod(1)
    return z, x, TINY.start[z[:, 0]] * steps * TINY.emission[z, x].prod(1)


def posterior(length, read, channel, places):
    """All sentences, and how probable each is for who sees what is read at these places."""
    z, x, joint = every(length)
    for place in places:
        if read[place] != OTHER:
            joint = joint * (channel.other + channel.same * (x[:, place] == read[place]))
    return z, x, joint / joint.sum()


@pytest.mark.parametrize(
    ("knows", "channel", "read"),
    [
        *((knows, Channel(), [2, 0, 1, 2]) for knows in ("word", "left", "both")),
        ("both", NOISY, [2, OTHER, 1, 0]),
    ],
)
def test_what_is_known_is_the_share_of_all_sentences(knows, channel, read):
    words, states = np.array([[2, 0, 1, 2]]), np.array([[0, 1, 2, 0]])
    found = hidden_markov.known(TINY, states, words, np.array([read]), channel, knows)
    for place in (1, 2):
        told_by = {"word": [place], "left": range(place + 1), "both": range(4)}[knows]
        z, x, share = posterior(4, read, channel, told_by)
        right = {
            "state": share[z[:, place] == states[0, place]].sum(),
            "word": share[x[:, place] == words[0, place]].sum(),
            "next": share[x[:, place + 1] == words[0, place + 1]].sum(),
            "previous": share[x[:, place - 1] == words[0, place - 1]].sum(),
        }
        if channel == Channel():
            right["recoded"] = 1.0
        assert {name: some[0, place - 1] for name, some in found.items()} == pytest.approx(right)


def test_a_state_that_is_never_reached_says_nothing():
    """As if the language did not have it."""
    transition, emission = np.zeros((4, 4)), np.full((4, 3), 1 / 3)
    transition[:3, :3], transition[3, 0], emission[:3] = ROUND, 1, TINY.emission
    more = Language(transition, emission, TINY.recoding, TINY.lengths)
    more.__dict__["start"] = np.append(TINY.start, 0.0)
    read, states = np.array([[2, 0, 1, 2]]), np.array([[0, 1, 2, 0]])
    for knows in ("word", "left", "both"):
        found, expected = (
            hidden_markov.known(of, states, read, read, Channel(), knows) for of in (more, TINY)
        )
        assert {name: some[0].tolist() for name, some in found.items()} == {
            name: pytest.approx(some[0].tolist()) for name, some in expected.items()
        }


def test_what_is_the_case_and_how_probable_it_is_without_the_sentence():
    z, x, share = every(4)
    words, states = np.array([[2, 0, 1, 2]]), np.array([[0, 1, 2, 0]])
    found = hidden_markov.things(TINY, states, words)
    assert {name: what.tolist() for name, (what, _) in found.items()} == {
        "state": [[1, 2]],
        "word": [[0, 1]],
        "recoded": [[0, 1]],
        "next": [[1, 2]],
        "previous": [[2, 0]],
    }
    of_all = {"state": z[:, 2], "word": x[:, 2], "recoded": TINY.recoding[x[:, 1]]}
    for name, values in (of_all | {"next": x[:, 3], "previous": x[:, 0]}).items():
        assert found[name][1] == pytest.approx(np.bincount(values, share))


def test_least_loss_of_the_next_word():
    """The sum over a sentence is that of its probability, given its first word, and of its end."""
    sentences = np.array([[2, 0, 1, 2], [0, 0, 1, 0]])
    found = hidden_markov.next_word_losses(TINY, sentences, np.array([4, 3]))
    for loss, words, length in zip(found, sentences, (4, 3), strict=True):
        _, x, joint = every(length)
        whole = joint[(x == words[:length]).all(1)].sum()
        first = joint[x[:, 0] == words[0]].sum()
        assert loss == pytest.approx(-np.log(whole / first) + np.log(2))
    # What is beyond the end counts for nothing.
    beyond = hidden_markov.next_word_losses(TINY, np.array([[0, 0, 1, 2]]), np.array([3]))
    assert beyond == pytest.approx(found[1:])


def test_least_loss_of_hidden_words():
    """Against all ways in which three words are chosen, and masked, replaced or kept."""
    choose, mask, replace, n_tokens = 0.4, 0.5, 0.2, 5
    kept, other = 1 - mask - replace, replace / n_tokens
    words, read, chosen = [2, 0, 1], [OTHER, 0, 2], [True, True, False]
    channels = Channel(1 - choose + choose * kept, choose * other), Channel(kept, other)
    found = hidden_markov.hidden_word_losses(
        TINY, *(np.array([some]) for some in (words, read, chosen)), *channels
    )
    _, x, joint = every(3)
    loss = 0.0
    for place in (0, 1):
        weights = joint.copy()
        for at in range(3):
            same = x[:, at] == read[at]
            if read[at] == OTHER:
                how = choose * mask * np.ones(len(x))
            elif at == place:
                how = choose * (kept * same + other)
            else:
                how = (1 - choose) * same + choose * (kept * same + other)
            weights *= how
        loss -= np.log(weights[x[:, place] == words[place]].sum() / weights.sum())
    assert found == pytest.approx([loss])


def test_a_tiny_entropy():
    assert hidden_markov.entropy(np.array([0.5, 0.5, 0.0])) == pytest.approx(np.log(2))
