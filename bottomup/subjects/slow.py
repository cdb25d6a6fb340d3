"""Slow tokenizers (transformers has them only in Python) with the methods that we use of fast ones.

A slow tokenizer does not say where in the text its pieces stand, so we search for them, word by
word if it cuts words alone in the same way. Pieces come in the order of the text, and differ from
it in case, accents, compatible characters and marks. If pieces are bytes, nothing of the text is in
them; then the tokenizer is asked what they spell.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, pairwise, takewhile
from operator import eq

from transformers import PreTrainedTokenizerBase

NOT_ASCII = "é"  # more than one byte
WORD = re.compile(r"\S+")
NO_CHARACTER = "\ufffd"  # what a part of a character is shown as
# What families write before or after a piece whose word goes on.
BEFORE, AFTER = "##", "@@"  # besides the marks ▁ and </w>, which are spaces


@dataclass(frozen=True)
class Encoded:
    """One text: ids; the span of each in the text, in characters; and which were added to it."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    special_tokens_mask: list[int]


class SlowTokenizer:
    """One side of a tokenizer: for the text that is read, or for the `target` of a translator."""

    def __init__(self, pretrained: PreTrainedTokenizerBase, target: bool = False):
        self.pretrained, self.target = pretrained, target

    def encode(self, text: str) -> Encoded:
        pieces, inner, ids = self._pieces(text)
        starts = range(len(ids) - len(inner) + 1)
        before = next(i for i in starts if ids[i : i + len(inner)] == inner)
        after = len(ids) - before - len(inner)
        spans = self._spelled(text, pieces) or self._in_words(text, pieces) or places(text, pieces)
        offsets = [(0, 0)] * before + spans + [(0, 0)] * after
        return Encoded(ids, offsets, [1] * before + [0] * len(inner) + [1] * after)

    @cached_property
    def over_bytes(self) -> bool:
        """Whether its pieces are bytes under names of their own, or codes for several."""
        pieces = self.pretrained.tokenize(NOT_ASCII)
        spelled = _plain("".join(map(_shown, pieces))) == _plain(NOT_ASCII)
        return not spelled and self.pretrained.convert_tokens_to_string(pieces) == NOT_ASCII

    def _spelled(self, text: str, pieces: Sequence[str]) -> list[tuple[int, int]]:
        """The spans of `places`, found by what the first n pieces spell, for each n. Empty if
        pieces are not bytes, or do not spell the text.

        A piece holds the characters that it completes; if none, those that are completed next.
        """
        spell = self.pretrained.convert_tokens_to_string
        if not self.over_bytes or spell([*pieces]) != text:
            return []
        parts = (spell([*pieces[:n]]) for n in range(len(pieces) + 1))
        # How many characters of the text are complete after n pieces.
        alike = (sum(takewhile(bool, map(eq, text, part))) for part in parts)
        complete = [*accumulate(alike, max)]
        spans, span = [], (0, 0)
        for start, end in reversed([*pairwise(complete)]):
            span = (start, end) if end > start else span
            spans.append(span)
        return spans[::-1]

    def _in_words(self, text: str, pieces: Sequence[str]) -> list[tuple[int, int]]:
        """The spans of `places`, found in each word between white space, so that none is found
        inside of another word that is unknown. Empty if words alone are cut in another way."""
        words = [(word.start(), self._pieces(word[0])[0], word[0]) for word in WORD.finditer(text)]
        if [*chain.from_iterable(alone for _, alone, _ in words)] != [*pieces]:
            return []
        return [
            (at + start, at + end) if start < end else (0, 0)
            for at, alone, word in words
            for start, end in places(word, alone)
        ]

    def _pieces(self, text: str) -> tuple[list[str], list[int], list[int]]:
        """The pieces of a text, their ids, and these with what is added."""
        tokenizer = self.pretrained
        if self.target:
            tokenizer._switch_to_target_mode()
        pieces = tokenizer.tokenize(text)
        inner = tokenizer.convert_tokens_to_ids(pieces)
        whole = list(tokenizer.build_inputs_with_special_tokens(inner))
        if self.target:
            tokenizer._switch_to_input_mode()
        return pieces, inner, whole

    @cached_property
    def _of_source(self) -> dict[int, str]:
        """The pieces of the side that is read, by id, if it has a vocabulary of its own: families
        that have two (Marian, FSMT) spell any id by that of the target."""
        vocabulary: dict[str, int] = getattr(self.pretrained, "get_src_vocab", dict)()
        return {} if self.target else {i: piece for piece, i in vocabulary.items()}

    def encode_batch(self, texts: Sequence[str]) -> list[Encoded]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        special = set(self.pretrained.all_special_ids) if skip_special_tokens else set()
        usual, own = self.pretrained.convert_ids_to_tokens, self._of_source
        pieces = [own[i] if i in own else usual(i) for i in ids if i not in special]
        shown = "".join(map(_shown, pieces))
        if not self.over_bytes:
            return shown
        spelled = self.pretrained.convert_tokens_to_string(pieces)
        return spelled or (shown if shown.isascii() else NO_CHARACTER)

    def get_vocab(self) -> dict[str, int]:
        return self.pretrained.get_vocab()

    def get_vocab_size(self) -> int:
        return len(self.pretrained)

    @property
    def unknown(self) -> set[int]:
        """The ids of what it does not know."""
        return {self.pretrained.unk_token_id} - {None}

    def no_truncation(self) -> None:
        """Do nothing: `encode` never truncates."""

    def no_padding(self) -> None:
        """Do nothing: `encode` never pads."""


def places(text: str, pieces: Sequence[str]) -> list[tuple[int, int]]:
    """The span of each piece in a text, in characters; empty (start = end) if it has none.

    Pieces that are not found, such as unknown ones, share what is between their neighbors.
    """
    letters = [(plain, i) for i, letter in enumerate(text) for plain in _plain(letter)]
    written = "".join(plain for plain, _ in letters)
    spans: list[tuple[int, int]] = []
    at, lost = 0, 0

    def span(start: int, end: int) -> tuple[int, int]:
        return (letters[start][1], letters[end - 1][1] + 1) if start < end else (0, 0)

    for piece in pieces:
        sought = _plain(_shown(piece))
        start = written.find(sought, at)
        # There is a gap before a piece only if the pieces before it were not found.
        if start < 0 or (start > at and not lost):
            lost += 1
            continue
        spans += [span(at, start)] * lost + [span(start, start + len(sought))]
        at, lost = start + len(sought), 0
    return spans + [span(at, len(letters))] * lost


def _shown(piece: str) -> str:
    """A piece with a space for the marks of a word's beginning and end, and none for others."""
    text = piece.replace("▁", " ").replace("</w>", " ")
    return text.removeprefix(BEFORE).removesuffix(AFTER) or text


def _plain(text: str) -> str:
    """A text without what normalization may change: white space, case, accents, compatible
    forms."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return "".join(_visible(folded))


def _visible(text: str) -> Iterator[str]:
    for letter in text:
        if not letter.isspace() and unicodedata.category(letter) not in ("Mn", "Cf", "Cc"):
            yield letter
