"""How far representations and predictions follow the order of words.

A model reads sentences, then the same words in another order: shuffled, in the whole sentence or in
windows of a few words (as in Sinha et al. 2021, arXiv 2104.06644); with one word moved to another
place; or without the half that a model reads first, so that it has read little before a word.
Words keep their sub-words together, and what stands around a text keeps its place.

How far a layer follows is the squared distance of a token's representation from that in the true
sentence, as a share of its distance from other occurrences of the same token: 0 if nothing
has changed, 1 if the token is as far from itself as one occurrence is from another. Only distances
count, so the mean that all representations of a layer share does not matter. A model that adds up
its words without their places has 0 in all layers. One that adds positions to embeddings has more
at layer 0 already, since words have other places.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bottomup.core.errors import UserError
from bottomup.core.seeds import generator
from bottomup.corpus.tokens import NO_WORD, TokenFile
from bottomup.measures import jackknife
from bottomup.subjects import Subject
from bottomup.subjects.batches import states

LEAST = 5  # words of a sentence
ALL, ITSELF, BEFORE, BETWEEN, AFTER, NOT_ASKED = "all", "itself", "before", "between", "after", ""
CONTEXT = ["0", "1", "2", "4", "8"]  # words that are read before one
PARTS = [ALL, ITSELF, BEFORE, BETWEEN, AFTER, *CONTEXT]
CUT = "cut"
DISTANCE, LOSS = "distance", "loss_nats"

# For a sentence of n words: which of them stands at each place, and the part of each place.
Order = tuple[np.ndarray, np.ndarray]


def shuffled(n: int, random: np.random.Generator, window: int | None = None) -> Order:
    """Words change places within windows of `window` words, or in the sentence. None keeps its
    place, but for one that is alone in the last window."""
    order = np.arange(n)
    for some in np.split(np.arange(n), range(window or n, n, window or n)):
        some = random.permutation(some)
        order[some] = np.roll(some, 1)
    return order, np.full(n, ALL)


def moved(n: int, random: np.random.Generator) -> Order:
    """One word goes to another place; words `between` the two places make room by one."""
    start, end = random.permutation(n)[:2]
    order = np.insert(np.delete(np.arange(n), start), end, start)
    where = [order == start, order < min(start, end), order > max(start, end)]
    return order, np.select(where, [ITSELF, BEFORE, AFTER], BETWEEN)


def cut(n: int, random: np.random.Generator, backward: bool = False) -> Order:
    """The half of the words that is read first goes; the parts are how many of the others a model
    reads before a word."""
    order, context = np.arange(n // 2, n), np.arange(n - n // 2).astype(str)
    parts = np.where(np.isin(context, CONTEXT), context, NOT_ASKED)
    return (order - n // 2, parts[::-1]) if backward else (order, parts)


ORDERS: dict[str, Callable[[int, np.random.Generator], Order]] = {
    "shuffled": shuffled,
    "within_4": partial(shuffled, window=4),
    "within_2": partial(shuffled, window=2),
    "moved": moved,
    CUT: cut,
}


class Changed(NamedTuple):
    """Sentences in another order. tokens: which token of the true text stands at each place; parts:
    of what is asked there; both `[n_tokens]`."""

    text: TokenFile
    tokens: np.ndarray
    parts: np.ndarray


def words_of(text: TokenFile) -> Iterator[tuple[np.ndarray, list[np.ndarray], np.ndarray]]:
    """For each sentence the tokens before its words, those of each word, and those after them, by
    their numbers in the text.

    Tokens of no word, such as spaces, go with the word after them; at the end they count as one.
    """
    words, special = np.asarray(text.words), text.special
    for start, end in pairwise(text.offsets):
        inside = start + np.flatnonzero(~special[start:end])
        first, last = (inside[0], inside[-1] + 1) if len(inside) else (end, end)
        before, within, after = np.split(np.arange(start, end), [first - start, last - start])
        number = words[within]
        begins = (number[1:] != number[:-1]) & (number[:-1] != NO_WORD)
        parts = np.split(within, 1 + np.flatnonzero(begins)) if len(within) else []
        yield before, parts, after


def drawn(text: TokenFile, n: int, seed: int) -> np.ndarray:
    """Up to `n` sentences of `LEAST` words or more, by their numbers, in order.

    Raises UserError if there are none.
    """
    long = [len(words) >= LEAST for _, words, _ in words_of(text)]
    order = generator(seed, "word order").permutation(len(text))
    some = order[np.array(long, dtype=bool)[order]][:n]
    if not len(some):
        raise UserError(
            f"none of {len(text)} test sentences has {LEAST} words, which word_order and bertscore "
            "need; raise corpus.cleaning.min_words, or leave out these tables"
        )
    return np.sort(some)


def rearranged(
    text: TokenFile,
    arrange: Callable[[int, np.random.Generator], Order],
    random: np.random.Generator,
) -> Changed:
    """A text with the words of each sentence in the order that `arrange` gives."""
    tokens, parts = [], []
    for before, words, after in words_of(text):
        order, of_words = arrange(len(words), random)
        tokens.append(np.concatenate([before, *(words[word] for word in order), after]))
        sizes = [len(words[word]) for word in order]
        padding = [np.full(len(some), NOT_ASKED) for some in (before, after)]
        parts.append(np.concatenate([padding[0], np.repeat(of_words, sizes), padding[1]]))
    return Changed(made_of(text, tokens), np.concatenate(tokens), np.concatenate(parts))


def made_of(text: TokenFile, sentences: list[np.ndarray]) -> TokenFile:
    """Sentences of the tokens of a text, by their numbers in it."""
    tokens = np.concatenate(sentences)
    added = None if text.added is None else text.added[tokens]
    offsets = np.cumsum([0, *map(len, sentences)])
    return TokenFile(text.ids[tokens], text.words[tokens], offsets, added)


def from_others(view: np.ndarray, types: np.ndarray) -> np.ndarray:
    """The mean squared distance of each row of a view `[n, d]` from the others of its type; NaN for
    one that is alone. types: from 0, `[n]`."""
    x = view - view.mean(axis=0, dtype=float)
    sums = np.zeros((types.max(initial=-1) + 1, x.shape[1]))
    np.add.at(sums, types, x)
    n, squares = np.bincount(types)[types], np.square(x).sum(axis=1)
    added = n * squares + np.bincount(types, squares)[types]
    total = added - 2 * (x * sums[types]).sum(axis=1)
    total = np.where(total > jackknife.ROUNDING * added, total, 0)
    return np.where(n > 1, total / np.maximum(n - 1, 1), np.nan)


def apart_without(
    view: np.ndarray, types: np.ndarray, blocks: np.ndarray, count: int
) -> np.ndarray:
    """`from_others` with all blocks of documents, then without each: `[1 + count, n]`.

    Rows of a block that is left out have NaN and are not among the others. blocks: the block of
    each row, `[n]`.
    """
    distances = np.full((1 + count, len(view)), np.nan)
    distances[0] = from_others(view, types)
    for block in range(count):
        held = blocks != block
        distances[1 + block, held] = from_others(view[held], types[held])
    return distances


def word_order(
    subject: Subject,
    text: TokenFile,
    blocks: np.ndarray,
    count: int,
    seed: int,
    batch_tokens: int,
    losses: Callable[[TokenFile], np.ndarray] | None = None,
) -> Iterator[dict]:
    """Rows of `word_order.csv`, see docs/tables.md.

    text: sentences as the model reads them. blocks: the block of documents of each sentence, below
    `count`. losses: gives for each sentence the summed cross-entropy in nats of what the objective
    predicts, and the number of predictions, `[n_sentences, 2]`; None if it predicts nothing.
    """
    kept = ~text.special
    types = np.unique(text.ids[kept], return_inverse=True)[1]
    true = states(subject, text, kept, batch_tokens)
    row, block_of = np.cumsum(kept) - 1, np.repeat(blocks, text.lengths)[kept]
    apart = np.stack([apart_without(view, types, block_of, count) for view in true], axis=-1)
    usual = losses(text) if losses else None
    orders = ORDERS | {CUT: partial(cut, backward=subject.backward)}
    for name, arrange in orders.items():
        changed = rearranged(text, arrange, generator(seed, "word order", name))
        asked = ~changed.text.special
        original, parts = row[changed.tokens[asked]], changed.parts[asked]
        after = states(subject, changed.text, asked, batch_tokens)
        pairs = zip(after, true, strict=True)
        squares = [np.square(a - b[original]).sum(axis=1, dtype=float) for a, b in pairs]
        distances = np.stack(squares, axis=1)
        several = ~np.isnan(apart[0, original]).any(axis=1)
        for part in PARTS:
            some = several & (parts == part)
            rows = original[some]
            about = {"order": name, "part": part, "quantity": DISTANCE}
            for row_of_layer in _shares(distances[some], apart[:, rows]):
                yield about | row_of_layer
        if losses and usual is not None and name != CUT:
            about = {"order": name, "part": ALL, "quantity": LOSS}
            yield about | _above(losses(changed.text), usual, blocks, count)


def _shares(distances: np.ndarray, apart: np.ndarray) -> Iterator[dict]:
    """By layer, the sum of distances `[n, layers + 1]` as a share of the sum of `apart`.

    apart: as from `apart_without`, `[1 + count, n, layers + 1]`.

    The share is 0 where nothing has moved, and empty where something has and all others are the
    same. Without tokens there are no rows.
    """
    known = ~np.isnan(apart)
    parts, wholes = np.where(known, distances, 0).sum(axis=1), np.where(known, apart, 0).sum(axis=1)
    shares = jackknife.ratio(parts, np.where(wholes > 0, wholes, np.nan))
    shares = np.where(known.any(axis=1) & (parts == 0), 0, shares)
    for layer, (value, *without) in enumerate(shares.T if len(distances) else []):
        estimate = jackknife.estimate("value", value, np.array(without), jackknife.NOT_NEGATIVE)
        yield {"layer": layer, **estimate, "n": len(distances)}


def _above(losses: np.ndarray, usual: np.ndarray, blocks: np.ndarray, count: int) -> dict:
    """The mean loss of a prediction above the usual one, from sums and counts `[n, 2]`."""
    sums = [jackknife.sums(of, blocks, count).T for of in (losses, usual)]
    value, *without = jackknife.ratio(*sums[0]) - jackknife.ratio(*sums[1])
    estimate = jackknife.estimate("value", value, np.array(without), jackknife.ANY)
    return {**estimate, "n": int(losses[:, 1].sum())}
