"""How well a layer tells how alike two sentences are, by BERTScore (Zhang et al. 2020).

BERTScore matches each token with the most similar one of the other sentence, by the cosine of their
representations. How good a layer is for that is told by ratings of people, as its authors tell it
(by Pearson's correlation; here by ranks, since the proxies below have no scale in common):

    rated        two sentences that people rated, if a study has such a file

Others are proxies, which need no ratings:

    translation  two sentences of the text; how alike their translations are, by chrF
    replaced     a sentence, and the same with some words replaced by others about as frequent
    dropped      a sentence, and the same without some words
    reordered    a sentence, and the same with some words in each other's places

In the last three, the score is the share of words that are left. A layer that holds nothing but the
tokens does well where words are replaced or dropped, since it counts them. So the table also has
layer 0 and `by_tokens`, what the tokens themselves tell.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sacrebleu import CHRF
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

from bottomup.core.errors import UserError
from bottomup.core.seeds import generator
from bottomup.corpus.cleaning import cleaned
from bottomup.corpus.sources.files import lines
from bottomup.corpus.tokens import TokenFile
from bottomup.measures import jackknife
from bottomup.measures.jackknife import COSINE
from bottomup.measures.word_order import made_of, words_of
from bottomup.subjects import Subject
from bottomup.subjects.batches import states
from bottomup.subjects.words import Span, encode
from bottomup.views.values import mean_and_deviation

RATED = "rated"
TRANSLATION, REPLACED, DROPPED, REORDERED = "translation", "replaced", "dropped", "reordered"
# Digits of 1 - F that count, in units of what unrelated sentences have. Later ones differ by
# rounding alone (for example if words are reordered for a model without positions), and ranks must
# not depend on that.
DIGITS = 10
UNRELATED = 50  # pairs of sentences, one after the other in the text
LIKE = 5  # most ranks, by frequency, between a word and its replacement


class Pairs(NamedTuple):
    """Pairs of sentences, one of `text` and one of `others`. scores: how alike the two are, by
    something other than a model, `[n_pairs]`.

    numbers: for each pair the numbers of its sentences in the text that is measured,
    `[n_pairs, 1 or 2]`; for rated pairs their own numbers.
    """

    kind: str
    text: TokenFile
    others: TokenFile
    scores: np.ndarray
    numbers: np.ndarray


def ratings(file: Path, language: str) -> list[tuple[str, str, float]]:
    """Two sentences, as from `corpus.cleaning.cleaned`, and how alike people find them, from a file
    of lines with three columns between tabs.

    Raises UserError if a line has other columns, or the file no lines.
    """
    pairs = []
    for number, line in enumerate(lines(file), 1):
        try:
            *sides, score = line.split("\t")
            a, b = (cleaned(side, language) for side in sides)
            pairs.append((a, b, float(score)))
        except ValueError:
            pairs.append(("", "", math.nan))
        if not (all(pairs[-1][:2]) and math.isfinite(pairs[-1][2])):
            raise UserError(
                f"{file}, line {number}: found {line[:80]!r}; allowed: two sentences and a number, "
                "with tabs between them; mend measures.bertscore.ratings"
            )
    return pairs


def rated(subject: Subject, pairs: Sequence[tuple[str, str, float]]) -> Pairs:
    """Rated pairs as the model reads them."""
    no_words: list[list[Span]] = [[]] * len(pairs)
    sides = zip(*((a, b) for a, b, _ in pairs), strict=True)
    a, b = (encode(subject.tokenizer, side, no_words, subject.max_length) for side in sides)
    scores = np.array([score for *_, score in pairs])
    return Pairs(RATED, a.tokens, b.tokens, scores, np.arange(len(pairs))[:, None])


class LikeWords:
    """Draws a replacement for a word: another word of the text that is about as frequent.

    Words are given, and returned, as the places of their tokens. All types within `LIKE` ranks by
    frequency are equally probable. The only word of a text stays.
    """

    def __init__(self, text: TokenFile, random: np.random.Generator):
        self.ids, self.random = text.ids, random
        words = [word for _, of_sentence, _ in words_of(text) for word in of_sentence]
        counts = Counter(map(self._type, words))
        self.types = sorted(counts, key=lambda some: (-counts[some], some))
        self.rank = {some: rank for rank, some in enumerate(self.types)}
        self.tokens = {self._type(word): word for word in words}

    def _type(self, word: np.ndarray) -> tuple[int, ...]:
        return tuple(self.ids[word].tolist())

    def __call__(self, word: np.ndarray) -> np.ndarray:
        rank = self.rank[self._type(word)]
        near = np.arange(max(0, rank - LIKE), min(len(self.types), rank + LIKE + 1))
        others = near[near != rank]
        return self.tokens[self.types[self.random.choice(others)]] if len(others) else word


def changed(
    kind: str,
    words: Sequence[np.ndarray],
    some: np.ndarray,
    like: Callable[[np.ndarray], np.ndarray],
) -> list[np.ndarray]:
    """The words of a sentence, each by its tokens, with `some` of them, by number, changed."""
    if kind == REPLACED:
        new = [like(words[at]) for at in some]
    elif kind == DROPPED:
        new = [words[at][:0] for at in some]
    else:
        new = [words[at] for at in np.roll(some, 1)]
    return [*(dict(enumerate(words)) | dict(zip(some.tolist(), new, strict=True))).values()]


def graded(text: TokenFile, seed: int, most: int | None = None) -> Iterator[Pairs]:
    """For each kind of change, each sentence and the same with some words changed, from two of them
    to all but one.

    A replacement may have more tokens than the word; a sentence is cut off after `most` tokens.
    """
    for kind in (REPLACED, DROPPED, REORDERED):
        random = generator(seed, "bertscore", kind)
        like, tokens, left = LikeWords(text, random), [], []
        for before, words, after in words_of(text):
            some = random.permutation(len(words))[: random.integers(2, len(words))]
            read = np.concatenate([before, *changed(kind, words, some, like)])
            inside = None if most is None else most - len(after)
            tokens.append(np.concatenate([read[:inside], after]))
            left.append(1 - len(some) / len(words))
        numbers = np.arange(len(text))[:, None]
        yield Pairs(kind, text, made_of(text, tokens), np.array(left), numbers)


def translated(text: TokenFile, translations: Sequence[str], seed: int) -> Pairs:
    """Each sentence and the one that shares most of its tokens; each pair once.

    If several share as many, one is drawn. The scores are the chrF of their translations (Popovic
    2015), case ignored, 0 to 100, mean of both directions.
    """
    shares = overlaps(text, text)
    np.fill_diagonal(shares, -1)
    order = generator(seed, "bertscore", TRANSLATION).permutation(len(text))
    nearest, of_chars = order[shares[:, order].argmax(axis=1)], CHRF(lowercase=True)
    pairs = np.unique(np.sort(np.stack([np.arange(len(text)), nearest], axis=1)), axis=0)
    texts = [(translations[a], translations[b]) for a, b in pairs]
    scores = [
        np.mean([of_chars.sentence_score(a, [b]).score, of_chars.sentence_score(b, [a]).score])
        for a, b in texts
    ]
    first, other = map(text.select, pairs.T)
    return Pairs(TRANSLATION, first, other, np.array(scores), pairs)


def overlaps(text: TokenFile, others: TokenFile) -> np.ndarray:
    """The Dice overlap of two sentences: the number of token types that they share over the mean
    number that they have, 0 to 1, `[n_sentences, n_others]`."""
    types, sets = np.union1d(text.ids, others.ids), []
    for some in (text, others):
        kept = ~some.special
        rows = some.sentences[kept]
        has = np.zeros((len(some), len(types)), dtype=np.float32)
        has[rows, np.searchsorted(types, some.ids[kept])] = 1
        sets.append(has)
    a, b = sets
    return 2 * (a @ b.T) / np.maximum(a.sum(axis=1)[:, None] + b.sum(axis=1), 1)


def short_of_1(a: np.ndarray, b: np.ndarray) -> float:
    """1 less BERTScore's F of two sentences, from rows as from `_unit`, `[n_a, d]` and `[n_b, d]`.

    For each sentence, the best cosine of each of its tokens, mean over tokens; F is the harmonic
    mean of the two. It is 0 if one of them is not positive, or a sentence has no tokens. All of it
    is computed as the difference from 1, which is tiny where one neuron is much larger than others.
    """
    if not len(a) or not len(b):
        return 1.0
    # Half a squared distance; rows of length 0 have a cosine of 0.
    apart = cdist(a, b, "sqeuclidean") / 2
    zero_a, zero_b = ((rows == 0).all(axis=1).astype(float) for rows in (a, b))
    apart += (zero_a[:, None] + zero_b) / 2
    recall, precision = apart.min(axis=1).mean(), apart.min(axis=0).mean()
    if max(recall, precision) >= 1:
        return 1.0
    return float((recall + precision - 2 * recall * precision) / (2 - recall - precision))


def _all_short(a: Sequence[np.ndarray], b: Sequence[np.ndarray], mean: np.ndarray) -> np.ndarray:
    """1 less F of each of these pairs of sentences, less a mean."""
    pairs = zip(a, b, strict=True)
    return np.array([short_of_1(_unit(x - mean), _unit(y - mean)) for x, y in pairs])


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """The rank correlation of two samples, -1 to 1; NaN if one does not vary, or for two pairs,
    where it would always be -1 or 1."""
    x, y = (rankdata(some) - (len(some) + 1) / 2 for some in (a, b))
    size = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / size) if size > 0 and len(a) > 2 else np.nan


def bertscore(
    subject: Subject,
    text: TokenFile,
    translations: Sequence[str] | None,
    blocks: np.ndarray,
    count: int,
    seed: int,
    batch_tokens: int,
    of_people: Sequence[tuple[str, str, float]] = (),
) -> Iterator[dict]:
    """Rows of `bertscore.csv`, see docs/tables.md.

    text: sentences of three words or more as the model reads them. translations: of each sentence;
    None if there are none. blocks: the block of documents of each sentence, below `count`.
    of_people: as from `ratings`; these pairs are dealt to `count` blocks in turn.
    """
    cases = [*graded(text, seed, subject.max_length)]
    if translations is not None:
        cases.insert(0, translated(text, translations, seed))
    if of_people:
        cases.insert(0, rated(subject, of_people))
    views = _sentences(subject, text, batch_tokens)
    for kind, first, others, scores, numbers in cases:
        of_first, of_pair = views, blocks[numbers] if kind != RATED else numbers % count
        if first is not text:
            of_first = _sentences(subject, first, batch_tokens)
        of_others = _sentences(subject, others, batch_tokens)
        # A pair of sentences from two blocks is left out with either.
        held = [(of_pair != block).all(axis=1) for block in (-1, *range(count))]
        by_tokens = spearman(overlaps(first, others).diagonal(), scores)
        for layer, (a, b) in enumerate(zip(of_first, of_others, strict=True)):
            mean, _ = mean_and_deviation(np.concatenate(a))
            for centered in (False, True):
                off, few = mean * centered, a[:UNRELATED]
                unrelated = np.median(_all_short(few, [*few[1:], few[0]], off))
                fs = -(_all_short(a, b, off) / (unrelated or 1.0)).round(DIGITS)
                value, *without = (spearman(fs[some], scores[some]) for some in held)
                yield {
                    **{"pairs": kind, "layer": layer, "centered": centered},
                    **jackknife.estimate("value", value, np.array(without), COSINE),
                    **{"by_tokens": by_tokens, "n": len(fs)},
                }


def _sentences(subject: Subject, text: TokenFile, batch_tokens: int) -> list[list[np.ndarray]]:
    """The representations of each sentence's tokens, by layer, without special ones."""
    kept = ~text.special
    ends = np.cumsum(kept)[text.offsets[1:] - 1]
    views = states(subject, text, kept, batch_tokens)
    return [np.split(view, ends[:-1]) for view in views]


def _unit(rows: np.ndarray) -> np.ndarray:
    """Rows of length 1, in float64, in which one large neuron costs no digits; those of length 0
    stay."""
    rows = rows.astype(float)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)
