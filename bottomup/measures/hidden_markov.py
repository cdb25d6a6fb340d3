"""What can be known of the sentences of a hidden Markov model, exactly, by forward and backward
passes (Rabiner 1989, "A tutorial on hidden Markov models").

Sentences are side by side, `[n, length]`, with anything beyond their ends. What a reader sees at a
place is a word, by its number, or `OTHER`: a mask, a token that is no word, or nothing beyond the
end. All knowledge is about a place of a sentence whose length and position tell nothing of it.
"""

from dataclasses import dataclass

import numpy as np

from bottomup.corpus.drawn import Language

OTHER = -1  # in place of a word


@dataclass(frozen=True)
class Channel:
    """What is read in place of a word, where a word is read: that word with probability `same`, and
    in addition any word with probability `other`, both up to one factor for all words."""

    same: float = 1.0
    other: float = 0.0

    def of_read(self, of_word: np.ndarray, read: np.ndarray) -> np.ndarray:
        """How probable it is to read what is read, up to a factor.

        of_word: the probability of the word that is read, `[n, length]`, or that from each state,
        `[n, length, states]`. read: `[n, length]`.
        """
        is_word = (read != OTHER).reshape(*read.shape, *[1] * (of_word.ndim - 2))
        return np.where(is_word, self.other + self.same * of_word, 1.0)


@dataclass(frozen=True)
class Beliefs:
    """What a reader believes of each place.

    left, around: the probability of each state, `[n, length, states]`, from what is read to the
    left of the place, and from what is read on both sides of it, but not there. surprise: -ln of
    the probability of what is read there, from what is read to its left, up to a constant,
    `[n, length]`.
    """

    left: np.ndarray
    around: np.ndarray
    surprise: np.ndarray


def likelihoods(of: Language, read: np.ndarray, channel: Channel) -> np.ndarray:
    """How probably each state makes what is read, up to a factor: `[n, length, states]`."""
    return channel.of_read(of.emission.T[np.maximum(read, 0)], read)


def beliefs(of: Language, read: np.ndarray, channel: Channel) -> Beliefs:
    """The beliefs of a reader who knows the language."""
    likelihood = likelihoods(of, read, channel)
    left, right = np.empty_like(likelihood), np.ones_like(likelihood)
    surprise = np.empty(read.shape)
    left[:, 0] = of.start
    length = read.shape[1]
    for place in range(length):
        now = left[:, place] * likelihood[:, place]
        surprise[:, place] = -np.log(now.sum(1))
        if place + 1 < length:
            left[:, place + 1] = _normal(now) @ of.transition
    for place in range(length - 1, 0, -1):
        right[:, place - 1] = _normal((right[:, place] * likelihood[:, place]) @ of.transition.T)
    return Beliefs(left, _normal(left * right), surprise)


def _normal(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum(-1, keepdims=True)


def makes(of: Language, belief: np.ndarray, words: np.ndarray) -> np.ndarray:
    """How probable these words are, `[n, length]`, if states are as probable as `belief` says."""
    return (belief * of.emission.T[words]).sum(-1)


def word_posterior(
    of: Language, belief: np.ndarray, words: np.ndarray, read: np.ndarray, channel: Channel
) -> np.ndarray:
    """How probable the words are that stand at each place, `[n, length]`, for a reader who also
    sees what is read there; belief: without it. 0 where what is read cannot be."""
    of_read = channel.of_read(makes(of, belief, np.maximum(read, 0)), read)
    both = makes(of, belief, words) * channel.of_read((read == words) * 1.0, read)
    return np.divide(both, of_read, out=np.zeros_like(both), where=of_read > 0)


def known(
    of: Language,
    states: np.ndarray,
    words: np.ndarray,
    read: np.ndarray,
    channel: Channel,
    knows: str,
) -> dict[str, np.ndarray]:
    """By variable, how probable its true value is for a reader, at each place but the first and the
    last, `[n, length - 2]`.

    knows: what the reader knows: "word", what is read at the place alone; "left", also what is read
    to its left, each a word that stands there; "both", all that is read. "recoded", the translation
    of the word, is left out unless words are read as they are.
    """
    posterior = beliefs(of, read, channel)
    start = np.broadcast_to(of.start, posterior.left.shape)
    without = {"word": start, "left": posterior.left, "both": posterior.around}[knows]
    belief = _normal(without * likelihoods(of, read, channel))
    word = word_posterior(of, without, words, read, channel)
    beside = {
        "next": makes(of, belief[:, :-1] @ of.transition, words[:, 1:])[:, 1:],
        "previous": makes(of, belief[:, 1:] @ _backwards(of), words[:, :-1])[:, :-1],
    }
    if knows != "word":
        beside["previous"] = word[:, :-2]
    if knows == "both":
        beside["next"] = word[:, 2:]
    state = np.take_along_axis(belief, states[..., None], axis=2)[..., 0]
    at = {"state": state[:, 1:-1], "word": word[:, 1:-1]}
    return at | ({"recoded": word[:, 1:-1]} if channel == Channel() else {}) | beside


def _backwards(of: Language) -> np.ndarray:
    """How probable each state is before a row's state; 0 before one that is never reached."""
    joint = (of.start[:, None] * of.transition).T
    reached = joint.sum(1, keepdims=True)
    return np.divide(joint, reached, out=np.zeros_like(joint), where=reached > 0)


def things(
    of: Language, states: np.ndarray, words: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """By variable, its true value at each place but the first and the last, `[n, length - 2]`, and
    how probable each value is without the sentence."""
    inside = slice(1, -1)
    recoded = np.bincount(of.recoding, of.words)
    return {
        "state": (states[:, inside], of.start),
        "word": (words[:, inside], of.words),
        "recoded": (of.recoding[words[:, inside]], recoded),
        "next": (words[:, 2:], of.words),
        "previous": (words[:, :-2], of.words),
    }


def entropy(probabilities: np.ndarray) -> float:
    """The entropy in nats."""
    some = probabilities[probabilities > 0]
    return float(-some @ np.log(some))


def next_word_losses(of: Language, words: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The least loss of a language model that knows the language, in nats, summed over each
    sentence `[n]`: of all words but the first, and of where the sentence ends. Lengths are equally
    probable, and that of a sentence is told by its end alone."""
    inside = np.arange(words.shape[1]) < lengths[:, None]
    surprise = beliefs(of, np.where(inside, words, OTHER), Channel()).surprise
    fewest, most = of.lengths
    return np.where(inside, surprise, 0)[:, 1:].sum(1) + np.log(most - fewest + 1)


def hidden_word_losses(
    of: Language,
    words: np.ndarray,
    read: np.ndarray,
    chosen: np.ndarray,
    everywhere: Channel,
    where_chosen: Channel,
) -> np.ndarray:
    """The least loss of a masked language model that knows the language and how words are chosen,
    in nats, summed over each sentence `[n]`.

    chosen: which words are to be predicted, bool `[n, length]`. The reader is not told which of
    what it reads is chosen, but loses only where it is.
    """
    around = beliefs(of, read, everywhere).around
    probability = word_posterior(of, around, words, read, where_chosen)
    return -np.log(np.where(chosen, probability, 1.0)).sum(1)
