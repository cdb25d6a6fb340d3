"""Token files: the sub-words of all sentences of a split, in memory-mapped arrays."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from bottomup.core.files import damaged
from bottomup.core.files.arrays import load_array
from bottomup.corpus.specials import EOS

NO_WORD = -1  # the word index of a token outside words


@dataclass(frozen=True)
class TokenFile:
    """Sentences as sub-words; in a file, each ends with </s>.

    ids: token ids, int32 `[n_tokens]`.
    words: index of each token's word in its sentence, NO_WORD for </s>, int32 `[n_tokens]`.
    offsets: where each sentence starts in `ids` and `words`, and where the last one ends, int64
        `[n_sentences + 1]`.
    added: which tokens a checkpoint's tokenizer adds to a sentence, bool `[n_tokens]`; None for our
        own, which adds </s>.
    """

    ids: np.ndarray
    words: np.ndarray
    offsets: np.ndarray
    added: np.ndarray | None = None

    @classmethod
    def load(cls, folder: Path) -> "TokenFile":
        """Map ids.npy, words.npy and offsets.npy of `folder` into memory.

        Raises UserError if one of them is damaged, or if they are not of the same text.
        """
        files = [folder / f"{name}.npy" for name in ("ids", "words", "offsets")]
        tokens = cls(*map(_mapped, files, (np.int32, np.int32, np.int64)))
        ids, words, offsets = tokens.ids, tokens.words, tokens.offsets
        if not (
            len(offsets) > 0 == offsets[0]
            and offsets[-1] == len(ids) == len(words)
            and (tokens.lengths > 0).all()
            and (ids[offsets[1:] - 1] == EOS).all()
            and (ids >= 0).all()
        ):
            raise damaged(
                folder,
                f"{len(ids)} tokens in ids.npy and {len(words)} in words.npy, which the "
                f"{len(offsets)} of offsets.npy do not cut into sentences that end in </s>",
            )
        return tokens

    def save(self, folder: Path) -> None:
        """Write the files that `load` maps."""
        for name in ("ids", "words", "offsets"):
            np.save(folder / f"{name}.npy", getattr(self, name))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def sentence(self, i: int) -> np.ndarray:
        """The token ids of sentence `i`, including its </s>."""
        return self.ids[self.offsets[i] : self.offsets[i + 1]]

    @cached_property
    def lengths(self) -> np.ndarray:
        """The number of tokens of each sentence, including </s>, int64 `[n_sentences]`."""
        return np.diff(self.offsets)

    @property
    def sentences(self) -> np.ndarray:
        """The number of each token's sentence, `[n_tokens]`."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def special(self) -> np.ndarray:
        """Which tokens stand around the text and are not part of it, bool `[n_tokens]`."""
        return self.ids == EOS if self.added is None else self.added

    @property
    def begins(self) -> np.ndarray:
        """Which tokens begin a word, bool `[n_tokens]`."""
        words = np.asarray(self.words)
        begins = words != np.roll(words, 1)
        begins[self.offsets[:-1][self.lengths > 0]] = True
        return begins & (words != NO_WORD)

    def select(self, sentences: np.ndarray) -> "TokenFile":
        """These sentences, in this order, as a new token file in memory."""
        lengths = self.lengths[sentences]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        shift = np.repeat(self.offsets[sentences] - offsets[:-1], lengths)
        index = shift + np.arange(offsets[-1])
        added = None if self.added is None else self.added[index]
        return TokenFile(self.ids[index], self.words[index], offsets, added)

    def joined(self, other: "TokenFile") -> "TokenFile":
        """These sentences, then those of `other`, as a new token file in memory."""
        offsets = np.append(self.offsets, self.offsets[-1] + other.offsets[1:])
        ids, words = ([getattr(self, name), getattr(other, name)] for name in ("ids", "words"))
        return TokenFile(np.concatenate(ids), np.concatenate(words), offsets)


def _mapped(path: Path, dtype: type) -> np.ndarray:
    array = load_array(path, mapped=True)
    if array.dtype != dtype or array.ndim != 1:
        expected = f"expected {np.dtype(dtype)} of shape (n,)"
        raise damaged(path, f"{array.dtype} of shape {array.shape}, {expected}")
    return array
