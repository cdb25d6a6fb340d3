"""Batches of sentences of similar length, limited by the number of padded tokens."""

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path

import numpy as np

from bottomup.core.errors import UserError
from bottomup.core.files.joins import require_equal_lengths
from bottomup.core.seeds import generator
from bottomup.corpus.specials import PAD
from bottomup.corpus.tokens import TokenFile

POOL = 200_000  # sentences to sort by length together, so that epochs of any size stay shuffled


@dataclass(frozen=True)
class Text:
    """One split: token files of the source side and, if the objective predicts it, the target
    side.

    joined: whether a sentence and its translation are read as one sequence.
    """

    source: TokenFile
    target: TokenFile | None = None
    joined: bool = field(default=False, kw_only=True)

    def __post_init__(self):
        if self.target is not None:
            require_equal_lengths(source=self.source, target=self.target)

    @classmethod
    def load(cls, tokens: Path, split: str, predicts: str | None) -> "Text":
        """The token files of a split: the source side and, if it is predicted ("target" or "both"),
        the target side."""
        source = TokenFile.load(tokens / f"{split}.source")
        if predicts not in ("target", "both"):
            return cls(source)
        target = TokenFile.load(tokens / f"{split}.target")
        return cls(source, target, joined=predicts == "both")

    @cached_property
    def lengths(self) -> np.ndarray:
        """The number of tokens on the longer side of each sentence pair, or if they are `joined` on
        both, `[n_sentences]`."""
        if self.target is not None and self.joined:
            return self.source.lengths + self.target.lengths
        return self.longer

    @cached_property
    def longer(self) -> np.ndarray:
        """The number of tokens on the longer side of each sentence pair, `[n_sentences]`."""
        if self.target is None:
            return self.source.lengths
        return np.maximum(self.source.lengths, self.target.lengths)

    def digest(self) -> str:
        """A digest that changes with any token or sentence boundary of either side."""
        digest = hashlib.sha256()
        for tokens in (self.source, self.target):
            if tokens is not None:
                digest.update(tokens.offsets.data)
                digest.update(tokens.ids.data)
                if tokens.added is not None:
                    digest.update(tokens.added.data)
        return digest.hexdigest()

    def select(self, sentences: np.ndarray) -> "Text":
        """Only these sentences, in this order."""
        target = None if self.target is None else self.target.select(sentences)
        return Text(self.source.select(sentences), target, joined=self.joined)

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


def stacked(sentences: Sequence[np.ndarray]) -> np.ndarray:
    """Ids of sentences as one array, `[batch, longest]` int64, filled with PAD on the right."""
    longest = max(map(len, sentences))
    batch = np.full((len(sentences), longest), PAD, dtype=np.int64)
    for row, ids in zip(batch, sentences, strict=True):
        row[: len(ids)] = ids
    return batch


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


def epoch(
    text: Text, batch_tokens: int, seed: int, number: int, longest: float = math.inf
) -> list[np.ndarray]:
    """The batches of one epoch over the sentences of at most `longest` tokens.

    Sentences of similar length are together, and batches in random order.
    """
    rng = generator(seed, "order", number)
    order = rng.permutation(np.flatnonzero(text.longer <= longest))
    batches = []
    for start in range(0, len(order), POOL):
        pool = order[start : start + POOL]
        pool = pool[np.argsort(text.lengths[pool], kind="stable")]
        batches += split_by_size(text.lengths, pool, batch_tokens)
    return [batches[i] for i in rng.permutation(len(batches))]


def forever(
    text: Text, batch_tokens: int, seed: int, short_first: Sequence[tuple[int, float]] = ()
) -> Iterator[np.ndarray]:
    """Batches, epoch after epoch, without end. They hold numbers of sentences: skipping is cheap.

    short_first: pairs of a length and a number of source tokens. Until that many tokens are read,
    batches have only sentences of at most that length; after the last pair, all sentences.

    Raises UserError if the longest sentence does not fit into a batch, or none is short enough.
    """
    longest, shortest = int(text.lengths.max()), int(text.longer.min())
    if longest > batch_tokens:
        what = "a sentence with its translation," if text.joined else "a sentence"
        raise UserError(
            f"{what} of {longest} tokens does not fit into a batch of {batch_tokens}; "
            "raise training.batch_tokens (in pruning.training, to prune heads), or lower "
            "corpus.splits.packed_words if the text is packed, else corpus.cleaning.max_words"
        )
    if any(length < shortest for length, _ in short_first):
        raise UserError(
            "no sentence is as short as training.short_first asks for; the shortest has "
            f"{shortest} tokens, the end of the sentence included; raise its lengths"
        )
    read, numbers = 0, count()
    for length, until in (*short_first, (longest, math.inf)):
        while read < until:
            for sentences in epoch(text, batch_tokens, seed, next(numbers), length):
                yield sentences
                read += int(text.source.lengths[sentences].sum())
                if read >= until:
                    break
