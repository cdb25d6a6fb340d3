"""The words of a text in the sub-words of any tokenizer, matched by their places in the text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from tokenizers import Encoding, Tokenizer

from bottomup.core.errors import UserError
from bottomup.core.files.joins import require_equal_lengths
from bottomup.core.files.tables import read_table
from bottomup.core.files.tokenizers import load_tokenizer, unknown
from bottomup.corpus.tokens import NO_WORD, TokenFile
from bottomup.corpus.words import located, spans
from bottomup.subjects import Subject

if TYPE_CHECKING:
    from bottomup.subjects.seen import Seen
    from bottomup.subjects.slow import Encoded, SlowTokenizer

# Why a word has no sub-words of its own.
VANISHED = "vanished"  # normalization left nothing of it
CUT = "cut off"  # it ends beyond what the model reads
SHARED = "shared"  # one of its sub-words holds something else, too
REASONS = (VANISHED, CUT, SHARED)
UNKNOWN = "unknown"  # it has, but all of them stand for what its tokenizer does not know

# Ids, whether they are added, and spans, for a sentence of which a tokenizer leaves nothing, as
# some do that have no token for the unknown. The model then reads one token that is not part of it.
NOTHING = [0], [1], [(0, 0)]

Span = tuple[int, int]  # start and end in a sentence, in characters


@dataclass(frozen=True)
class Words:
    """Sentences as a model reads them, and the places of their words.

    tokens: the sub-words, including special tokens, each with its word if that is aligned.
    first, last: the places in the sentence of each word's first and last sub-word, NO_WORD for a
        word that is not aligned, `[n_words]`, in order of the text.
    unaligned: how many words are not aligned, by reason.
    unknown: how many words are aligned, and read as nothing but unknown.
    cut: which sentences are cut off, bool `[n_sentences]`.
    """

    tokens: TokenFile
    first: np.ndarray
    last: np.ndarray
    unaligned: dict[str, int]
    unknown: int
    cut: np.ndarray

    def standing(self, backward: bool) -> np.ndarray:
        """The place of the sub-word that stands for each word, see `stands_for_word`."""
        return self.first if backward else self.last

    def pooled(self, pooling: str, backward: bool) -> tuple[np.ndarray, np.ndarray]:
        """The places of the first and the last of the sub-words whose mean is each word: of all of
        its own (`mean`), or of the one that stands for it (`last`)."""
        stands = self.standing(backward)
        return (self.first, self.last) if pooling == "mean" else (stands, stands)

    def not_read(self) -> Iterator[dict]:
        """Rows of a table: unit, reason, n and total. n counts words not aligned for each reason,
        words that are read as unknown, or sentences cut off, out of total."""
        for reason, n in (self.unaligned | {UNKNOWN: self.unknown}).items():
            yield {"unit": "word", "reason": reason, "n": n, "total": len(self.first)}
        yield {"unit": "sentence", "reason": CUT, "n": int(self.cut.sum()), "total": len(self.cut)}


def encode(
    tokenizer: "Tokenizer | SlowTokenizer",
    sentences: Sequence[str],
    words: Sequence[Sequence[Span]],
    max_length: int | None,
) -> Words:
    """Encode sentences, and find the sub-words of each word.

    sentences: with the marks of words that their language has (see `corpus.segmentation`), which
    only our own tokenizers read. words: the spans of each sentence's words in the sentence without
    marks; they do not overlap. max_length: tokens that the model reads at once, including special
    ones. The end of longer sentences is cut off, except for special tokens there.

    A word is aligned if it has sub-words, all of them are read, and none holds more of the sentence
    than this word and white space. A sub-word of white space only belongs to no word, whichever
    character of the text its tokenizer assigns to it. Each sentence has a token, see `NOTHING`.

    Raises UserError if the tokenizer meets what it does not know, and has no token for that.
    """
    # The tokenizer's file sets these for other uses.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    shown, as_read = located(sentences, tokenizer)
    try:
        encoded: Sequence[Encoding | Encoded] = tokenizer.encode_batch(as_read)
    except Exception as error:  # the package raises no other
        raise UserError(
            f"the model's tokenizer cannot cut a sentence of the text ({error}); allowed: one that "
            "has a token for what it does not know, as tokenizer.json names it (unk_token)"
        ) from error
    blank = _blank(tokenizer, (one.ids for one in encoded))
    not_known = unknown(tokenizer) if isinstance(tokenizer, Tokenizer) else tokenizer.unknown
    unaligned, n_unknown, cut = Counter(dict.fromkeys(REASONS, 0)), 0, []
    all_ids, all_words, all_added, all_first, all_last = [], [], [], [], []
    for (sentence, places), of_words, one in zip(shown, words, encoded, strict=True):
        ids, added, offsets = one.ids, one.special_tokens_mask, one.offsets
        if not ids:
            ids, added, offsets = NOTHING
        read, tail = read_and_tail(added, max_length)
        held = [
            (0, 0) if i in blank else visible(sentence, (places[start], places[end]))
            for i, (start, end) in zip(ids, offsets, strict=True)
        ]
        first, last, reasons = align(held, of_words, read)
        kept = ids[:read] + ids[len(ids) - tail :]
        unaligned.update(reasons)
        n_unknown += sum(
            start != NO_WORD and not_known.issuperset(ids[start : end + 1])
            for start, end in zip(first, last, strict=True)
        )
        cut.append(len(kept) < len(ids))
        all_ids.append(kept)
        all_words.append(_word_of_each(first, last, len(kept)))
        all_added.append(added[:read] + added[len(ids) - tail :])
        all_first.append(first)
        all_last.append(last)
    return Words(
        TokenFile(
            _flat(all_ids),
            _flat(all_words),
            np.cumsum([0, *map(len, all_ids)]),
            _flat(all_added).astype(bool),
        ),
        _flat(all_first),
        _flat(all_last),
        dict(unaligned),
        int(n_unknown),
        np.array(cut, dtype=bool),
    )


def of_occurrences(
    subject: Subject, table: pd.DataFrame, text: Path, tokenizer: Path
) -> tuple[Words, np.ndarray]:
    """The sentences of a table of words as a subject reads them, and which of their words it has.

    table: columns text (the number of a sentence in the table), sentence (its number in the split)
    and position (the number of a word in its sentence), in order. text: the split's parquet file.
    tokenizer: that of words. Besides the sentences it returns, for each row, the number of its word
    among all words of these sentences, in order of the text: `[n]`.
    """
    sentences = table.drop_duplicates("text").set_index("text")["sentence"]
    written = read_table(text, columns=["source"])["source"].iloc[sentences]
    words, counts = of_text(subject, written.tolist(), tokenizer)
    starts = np.cumsum([0, *counts])
    return words, (starts[table["text"]] + table["position"]).to_numpy()


def of_text(
    subject: Subject, sentences: list[str], tokenizer: Path, most: int | None = None
) -> tuple[Words, list[int]]:
    """Sentences as a subject reads them, and the number of words of each by the word tokenizer.

    most: the tokens that another model reads at once, if no more are to be read.
    """
    of_words = [places for _, places in spans(sentences, load_tokenizer(tokenizer))]
    limit = min(filter(None, [subject.max_length, most]), default=None)
    words = encode(subject.tokenizer, sentences, of_words, limit)
    return words, [*map(len, of_words)]


def held_out(seen: "Seen", sentences: np.ndarray, most: int | None = None) -> TokenFile:
    """These sentences of the test split as a subject reads them; a checkpoint has its own tokens.

    seen: of a table that reads `held_out`, or `test` and `words` (rules/measures.smk). most: see
    `of_text`.

    Raises UserError if the blocks are of another text.
    """
    blocks = seen.blocks
    if not (written := seen.paths("written")):
        tokens = TokenFile.load(seen.needed("text").parent)
        require_equal_lengths(sentences=tokens, blocks=blocks)
        return tokens.select(sentences)
    source = read_table(written[0], columns=["source"])["source"]
    require_equal_lengths(sentences=source, blocks=blocks)
    return of_text(seen.subject, source.iloc[sentences].tolist(), written[1], most)[0].tokens


def of_subwords(tokens: TokenFile, table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table of words, one for each sub-word of an aligned word.

    tokens: those of `Words`. table: all words of its sentences, in order. `position` becomes that
    of the sub-word; `first_subword` and `last_subword` say whether it begins and ends its word.
    """
    sentences = tokens.sentences
    starts = np.searchsorted(table["text"], np.arange(len(tokens)))
    part = np.asarray(tokens.words) != NO_WORD
    rows = (starts[sentences] + tokens.words)[part]
    position = (np.arange(len(sentences)) - tokens.offsets[sentences])[part]
    edges = np.concatenate([[True], rows[1:] != rows[:-1], [True]])
    own = {"position": position, "first_subword": edges[:-1], "last_subword": edges[1:]}
    return table.iloc[rows].reset_index(drop=True).assign(**own)


def stands_for_word(tokens: TokenFile, backward: bool) -> np.ndarray:
    """Which tokens stand for a word, bool `[n_tokens]`: those at which a model has read all of it.

    That is the last sub-word, and the first for a model that reads from the end (`backward`).
    """
    words, sentences = np.asarray(tokens.words), tokens.sentences
    apart = (words[1:] != words[:-1]) | (sentences[1:] != sentences[:-1])
    edges = np.concatenate([[True], apart, [True]])
    return (words != NO_WORD) & (edges[:-1] if backward else edges[1:])


def types_of(tokens: TokenFile, words: TokenFile) -> np.ndarray:
    """The id of each token's word, NO_WORD for none: `[n_tokens]`.

    tokens: those of `Words`. words: the same sentences, with each word as a token.
    """
    places = words.offsets[tokens.sentences] + tokens.words
    return np.where(tokens.words == NO_WORD, NO_WORD, words.ids[places])


def read_and_tail(special: Sequence[int], max_length: int | None) -> tuple[int, int]:
    """The number of tokens read from the start of a sentence, and of special tokens at its end.

    special: which tokens the tokenizer added to the text, `[length]`.
    """
    tail = next((place for place, added in enumerate(reversed(special)) if not added), 0)
    inner = len(special) - tail
    return inner if max_length is None else min(inner, max_length - tail), tail


def visible(sentence: str, span: Span) -> Span:
    """The span without white space at its ends; empty if it is nothing else."""
    text = sentence[span[0] : span[1]]
    start = span[0] + len(text) - len(text.lstrip())
    return start, start + len(text.strip())


def align(
    held: Sequence[Span], spans: Sequence[Span], read: int
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The first and last token of each word, and why words have none.

    held: the span that each token holds; start and end are equal for nothing. spans: the words.
    read: how many tokens are read, from the first. Returns two arrays `[n_words]`, with NO_WORD for
    words without tokens of their own, and a reason for each of these.
    """
    starts, ends = np.array(held, dtype=int).reshape(-1, 2).T
    from_, to = np.array(spans, dtype=int).reshape(-1, 2).T[..., None]
    overlaps = (starts < ends) & (starts < to) & (ends > from_)  # [n_words, n_tokens]
    more = (starts < from_) | (ends > to)
    places = np.arange(len(starts))
    first = np.where(overlaps, places, len(places)).min(axis=1, initial=len(places))
    last = np.where(overlaps, places, NO_WORD).max(axis=1, initial=NO_WORD)
    conditions = [last == NO_WORD, last >= read, (overlaps & more).any(axis=1)]
    reasons = np.select(conditions, REASONS, default="")
    first[reasons != ""] = last[reasons != ""] = NO_WORD
    return first, last, reasons[reasons != ""].tolist()


def _blank(tokenizer: "Tokenizer | SlowTokenizer", ids: Iterable[Iterable[int]]) -> set[int]:
    """The ids of white space only, such as a separate mark before a word."""
    texts = {i: tokenizer.decode([i], skip_special_tokens=False) for i in set().union(*ids)}
    return {i for i, text in texts.items() if not text.strip()}


def _word_of_each(first: np.ndarray, last: np.ndarray, length: int) -> np.ndarray:
    """The word of each token of a sentence, `[length]`."""
    words = np.full(length, NO_WORD)
    for number in np.flatnonzero(first != NO_WORD):
        words[first[number] : last[number] + 1] = number
    return words


def _flat(parts: Iterable[ArrayLike]) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.int32), *(np.asarray(part, np.int32) for part in parts)])
