"""An n-gram model of sub-words: interpolated Kneser-Ney, with one discount for each order.

    p(w | h) = (max(a(hw) - d, 0) + d N(h) p(w | h')) / a(h)

h' is h without its first token, N(h) the number of tokens that follow h, and a(h) the sum of a(hw)
over them. a(hw) counts hw at the highest order and, below, the tokens that stand before it; d is
n1 / (n1 + 2 n2), with n1 and n2 the number of n-grams of which that is 1 and 2 (Kneser and Ney
1995; Chen and Goodman 1999, section 2.7). Below the unigrams all tokens are equally probable. A
sentence begins after padding, which is never predicted.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bottomup.corpus.specials import PAD
from bottomup.corpus.tokens import TokenFile

NOWHERE = -1
# Where no n-gram was seen once, as in a text of few words, the formula would leave nothing over.
OTHERWISE = 0.5


@dataclass(frozen=True)
class Order:
    """The n-grams of one length, numbered in the order of their keys, and their contexts.

    A key is the number of an n-gram without its first token, times the size of the vocabulary, plus
    that token; contexts, n-grams without their last token, have keys of the same form.

    grams, contexts: the keys, sorted. counts: a(hw). totals, followers: a(h) and N(h).
    """

    grams: np.ndarray
    contexts: np.ndarray
    counts: np.ndarray
    totals: np.ndarray
    followers: np.ndarray

    @property
    def discount(self) -> float:
        once, twice = (np.count_nonzero(self.counts == n) for n in (1, 2))
        return once / (once + 2 * twice) if once else OTHERWISE


class Ngrams:
    """The model of a text, up to n-grams of length `order`."""

    def __init__(self, text: TokenFile, order: int, vocab_size: int):
        self.vocab_size = vocab_size
        tokens = before(text, order)
        gram = context = np.zeros(len(text.ids), dtype=np.int64)
        by_length = []
        for length in range(order):
            gram, grams = _numbered(self._keys(gram, tokens[length]))
            contexts = np.zeros(1, dtype=np.int64)
            if length:
                context, contexts = _numbered(self._keys(context, tokens[length]))
            context_of = np.zeros(len(grams), dtype=np.int64)
            context_of[gram] = context
            by_length.append((grams, contexts, context_of))
        longer = [np.bincount(grams // vocab_size) for grams, *_ in by_length[1:]]
        self.orders = [
            Order(
                grams,
                contexts,
                counts,
                np.bincount(context_of, counts, len(contexts)),
                np.bincount(context_of, minlength=len(contexts)),
            )
            for (grams, contexts, context_of), counts in zip(
                by_length, [*longer, np.bincount(gram)], strict=True
            )
        ]

    def log_probabilities(self, text: TokenFile) -> np.ndarray:
        """The logarithm of the probability of each token of a text after those before it in its
        sentence: `[n_tokens]`, nats."""
        tokens = before(text, len(self.orders))
        gram = context = np.zeros(len(text.ids), dtype=np.int64)
        p = np.full(len(text.ids), 1 / self.vocab_size)
        for length, order in enumerate(self.orders):
            gram = _numbers(order.grams, self._keys(gram, tokens[length]))
            if length:
                context = _numbers(order.contexts, self._keys(context, tokens[length]))
            counts = np.where(gram == NOWHERE, 0, order.counts[gram])
            own = np.maximum(counts - order.discount, 0)
            left = order.discount * order.followers[context] * p
            p = np.where(context == NOWHERE, p, (own + left) / order.totals[context])
        return np.log(p)

    def _keys(self, shorter: np.ndarray, first: np.ndarray) -> np.ndarray:
        return np.where(shorter == NOWHERE, NOWHERE, shorter * self.vocab_size + first)


def _numbered(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The place of each key among the different ones, and these, sorted; faster than np.unique."""
    return pd.factorize(keys, sort=True)


def before(text: TokenFile, order: int) -> np.ndarray:
    """Each token, then the one before it in its sentence, and so on: `[order, n_tokens]`."""
    place = np.arange(len(text.ids))
    within = place - np.repeat(text.offsets[:-1], text.lengths)
    ids = np.asarray(text.ids, dtype=np.int64)
    return np.stack(
        [np.where(within >= back, ids[np.maximum(place - back, 0)], PAD) for back in range(order)]
    )


def _numbers(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The place of each wanted key among sorted keys, NOWHERE if it is not there."""
    places = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    return np.where(keys[places] == wanted, places, NOWHERE)
