"""Batches of sentences of similar length, limited by the number of padded tokens."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bottomup.corpus.specials import PAD
from bottomup.corpus.tokens import TokenFile
from bottomup.errors import UserError
from bottomup.seeds import generator

POOL = 200_000  # sentences to sort by length together, so that epochs of any size stay shuffled


@dataclass(frozen=True)
class Text:
    """One split: token files of the source side and, if the objective predicts it, the target
    side."""

    source: TokenFile
    target: TokenFile | None = None

    @cached_property
    def lengths(self) -> np.ndarray:
        """The number of tokens on the longer side of each sentence pair, `[n_sentences]`."""
        if self.target is None:
            return self.source.lengths
        return np.maximum(self.source.lengths, self.target.lengths)

    def digest(self) -> str:
        """A digest that changes with any token or sentence boundary of either side."""
        digest = hashlib.sha256()
        for tokens in (self.source, self.target):
            if tokens is not None:
                digest.update(tokens.offsets)
                digest.update(tokens.ids)
        return digest.hexdigest()

    def select(self, sentences: np.ndarray) -> "Text":
        """Only these sentences, in this order."""
        target = None if self.target is None else self.target.select(sentences)
        return Text(self.source.select(sentences), target)

    def batch(self, sentences: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """The padded ids of both sides for these sentences, each `[batch, length]` int64."""
        target = None if self.target is None else padded(self.target, sentences)
        return padded(self.source, sentences), target


def padded(tokens: TokenFile, sentences: np.ndarray, padding: int = PAD) -> np.ndarray:
    """The sentences' ids, `[batch, longest]` int64, filled with `padding` on the right."""
    starts, lengths = tokens.offsets[sentences], tokens.lengths[sentences]
    columns = np.arange(lengths.max())
    inside = columns < lengths[:, None]
    ids = tokens.ids[np.where(inside, starts[:, None] + columns, 0)]
    return np.where(inside, ids, padding).astype(np.int64)


def split_by_size(lengths: np.ndarray, order: np.ndarray, batch_tokens: int) -> list[np.ndarray]:
    """Cut `order` into parts whose padded size, count x longest, is at most `batch_tokens`."""
    batches, start, longest = [], 0, 0
    for end, sentence in enumerate(order):
        longest = max(longest, lengths[sentence])
        if (end + 1 - start) * longest > batch_tokens and end > start:
            batches.append(order[start:end])
            start, longest = end, lengths[sentence]
    if start < len(order):
        batches.append(order[start:])
    return batches


def in_order(text: Text, batch_tokens: int) -> list[np.ndarray]:
    """All sentences once, sorted by length, for evaluation and extraction.

    A sentence of more than `batch_tokens` is a batch of its own.
    """
    return split_by_size(text.lengths, np.argsort(text.lengths, kind="stable"), batch_tokens)


def epoch(text: Text, batch_tokens: int, seed: int, number: int) -> list[np.ndarray]:
    """The batches of one epoch: sentences of similar length together, batches in random order."""
    rng = generator(seed, "order", number)
    order = rng.permutation(len(text.source))
    batches = []
    for start in range(0, len(order), POOL):
        pool = order[start : start + POOL]
        pool = pool[np.argsort(text.lengths[pool], kind="stable")]
        batches += split_by_size(text.lengths, pool, batch_tokens)
    return [batches[i] for i in rng.permutation(len(batches))]


def forever(text: Text, batch_tokens: int, seed: int, skip: int) -> Iterator[np.ndarray]:
    """Batches, epoch after epoch, after skipping `skip` of them.

    Skipped epochs are only ordered, so a resumed run starts at once.

    Raises UserError if the longest sentence does not fit into a batch.
    """
    longest = int(text.lengths.max())
    if longest > batch_tokens:
        raise UserError(
            f"a sentence of {longest} tokens does not fit into a batch of {batch_tokens}; "
            "raise training.batch_tokens or lower corpus.cleaning.max_words"
        )
    number = 0
    while True:
        batches = epoch(text, batch_tokens, seed, number)
        yield from batches[skip:]
        skip = max(0, skip - len(batches))
        number += 1
