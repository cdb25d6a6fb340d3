"""Which word of a sentence is the translation of which: word alignment of parallel text.

The model is that of fast_align (Dyer et al. 2013, N13-1073): each word of one side is made by a
word of the other one, which is near the same share of its sentence, or by none. How probable a word
makes another one is learned from co-occurrence, by variational Bayes. This is done in both
directions, and what both find stays.

What differs from fast_align: the preference for the diagonal stays at the value where it starts
there; and two words are linked if each more probably belongs to the other than to all else
together, so that a word has one link at most. fast_align itself and eflomal would have to be
compiled, and packages of systran-align, which is fast_align, end with Python 3.11.
"""

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import digamma
from tokenizers import Tokenizer

from bottomup.corpus.tokens import TokenFile
from bottomup.corpus.word_types import Words, words_of

DIAGONAL = 4.0  # how fast probability falls with the distance from it
BY_NONE = 0.08  # share of words that no word makes
CONCENTRATION = 0.01  # of the prior of what a word makes: few words
ITERATIONS = 5
# Pairs of words of one sentence to learn from: about 1 GB of memory.
CELLS = 2**24


@dataclass(frozen=True)
class Cells:
    """All pairs of a source word and a target word of one sentence.

    words: the number of both words, `[2, n_cells]`. near: the preference for the diagonal
    `[n_cells]`. pairs: which two types they are, `[n_cells]`; types: of these, `[2, n_pairs]`.
    """

    words: np.ndarray
    near: np.ndarray
    pairs: np.ndarray
    types: np.ndarray


def translations(
    text: tuple[TokenFile, TokenFile],
    others: tuple[TokenFile, TokenFile],
    tokenizers: tuple[Tokenizer, Tokenizer],
) -> pd.DataFrame:
    """The aligned words of a text, in its order; others: more text to learn from; both with source
    and target.

    Columns: sentence, word (its number there), form (as it is written), translation (the target
    word).
    """
    both = zip(text, others, tokenizers, strict=True)
    source, target = (words_of(one.joined(other), tokenizer) for one, other, tokenizer in both)
    of_source, of_target = links(source, target, len(text[0]))
    columns = {
        "sentence": source.sentences[of_source],
        "word": source.places[of_source],
        "form": source.forms[source.types[of_source]],
        "translation": target.forms[target.types[of_target]],
    }
    return pd.DataFrame(columns)


def links(source: Words, target: Words, wanted: int) -> np.ndarray:
    """The pairs of words that are linked in the first `wanted` sentences: `[2, n_links]`, numbers
    of words of source and target, in the order of the source.

    What is learned from: see `cells_of`.
    """
    cells = cells_of(source, target, wanted)
    both = np.minimum(*(posteriors(cells, (source, target), side) for side in (0, 1))) > 0.5
    linked = cells.words[:, both]
    linked = linked[:, source.sentences[linked[0]] < wanted]
    return linked[:, np.argsort(linked[0])]


def cells_of(source: Words, target: Words, wanted: int) -> Cells:
    """The cells of the first `wanted` sentences and, as far as `CELLS` allows, the shortest others.

    If those of the first alone were too many, their words are paired with those near the diagonal.
    """
    n = 1 + max(source.sentences.max(initial=-1), target.sentences.max(initial=-1))
    lengths = np.stack([np.bincount(side.sentences, minlength=n) for side in (source, target)])
    starts = np.cumsum(lengths, axis=1) - lengths
    widths = lengths[1].copy()  # how many words of the target each one of the source is paired with
    widths[:wanted] = _widths(*lengths[:, :wanted])
    sizes = lengths[0] * widths
    order = np.argsort(np.where(np.arange(n) < wanted, 0, sizes), kind="stable")
    kept = order[: max(wanted, np.searchsorted(np.cumsum(sizes[order]), CELLS))]
    # Each word of the source, its first partner, and how many follow it.
    read, sentence = _runs(lengths[0, kept])
    sentence = kept[sentence]
    width, (of_source, of_target) = widths[sentence], lengths[:, sentence]
    first = ((2 * read + 1) * of_target // (2 * of_source) - width // 2).clip(0, of_target - width)
    place, word = _runs(width)
    places = np.stack([read[word], first[word] + place]).astype(np.int32)
    sentence = sentence[word]
    shares = (places + 0.5) / lengths[:, sentence]
    near = np.exp(-DIAGONAL * np.abs(shares[0] - shares[1]))
    words = places + starts[:, sentence].astype(np.int32)
    n_types = len(target.forms)
    numbers = source.types[words[0]].astype(np.int64) * n_types + target.types[words[1]]
    pairs, distinct = pd.factorize(numbers)
    return Cells(words, near, pairs.astype(np.int32), np.stack(np.divmod(distinct, n_types)))


def _runs(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The place in its run, and the number of its run, of each member of runs of some lengths."""
    run = np.repeat(np.arange(len(lengths)), lengths)
    return np.arange(len(run)) - np.repeat(np.cumsum(lengths) - lengths, lengths), run


def _widths(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """With how many words of the target each one of the source is paired, for sentences of so many
    words: with all, or as many as `CELLS` allows, but so many that all have a partner."""

    def cells(most: int) -> int:
        return int((source * np.minimum(target, most)).sum())

    most = bisect_right(range(1, 1 + target.max(initial=0)), CELLS, key=cells)
    return np.minimum(target, np.maximum(most, -(-target // source.clip(1))))


def posteriors(cells: Cells, sides: tuple[Words, Words], side: int) -> np.ndarray:
    """The probability that a word is made by the other one of a cell, `[n_cells]`.

    side: whose words are made, 0 for the source.
    """
    words, types = cells.words[side], sides[side].types
    by, n_makers = cells.types[1 - side], len(sides[1 - side].forms)
    n, n_types = len(types), len(sides[side].forms)
    prior = (
        cells.near * ((1 - BY_NONE) / np.maximum(np.bincount(words, cells.near, n), 1e-300))[words]
    )
    kinds = np.bincount(by, minlength=n_makers)  # how many types each type may make
    makes, none_makes = np.ones(cells.types.shape[1]), np.ones(n_types)
    for _ in range(ITERATIONS + 1):
        posterior = prior * makes[cells.pairs]
        by_none = BY_NONE * none_makes[types]
        total = np.bincount(words, posterior, n) + by_none
        posterior /= total[words]
        counts = np.bincount(cells.pairs, posterior, len(makes))
        makes = _probable(counts, np.bincount(by, counts, n_makers)[by], kinds[by])
        counts = np.bincount(types, by_none / total, n_types)
        none_makes = _probable(counts, counts.sum(), n_types)
    return posterior


def _probable(counts: np.ndarray, totals: np.ndarray, kinds: np.ndarray | int) -> np.ndarray:
    """How probable each type is, from expected counts of it and of all of its `kinds`."""
    return np.exp(digamma(counts + CONCENTRATION) - digamma(totals + CONCENTRATION * kinds))
