"""Token files: the sub-words of all sentences of a split, in memory-mapped arrays."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from bottomup.files.arrays import load_array


@dataclass(frozen=True)
class TokenFile:
    """Sentences as sub-words; each ends with </s>.

    ids: token ids, int32 `[n_tokens]`.
    words: index of each token's word in its sentence, -1 for </s>, int32 `[n_tokens]`.
    offsets: where each sentence starts in `ids` and `words`, and where the last one ends, int64
        `[n_sentences + 1]`.
    """

    ids: np.ndarray
    words: np.ndarray
    offsets: np.ndarray

    @classmethod
    def load(cls, folder: Path) -> "TokenFile":
        """Map ids.npy, words.npy and offsets.npy of `folder` into memory."""
        names = ("ids", "words", "offsets")
        return cls(*(load_array(folder / f"{name}.npy", mapped=True) for name in names))

    def save(self, folder: Path) -> None:
        """Write the files that `load` maps."""
        for name in ("ids", "words", "offsets"):
            np.save(folder / f"{name}.npy", getattr(self, name))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def sentence(self, i: int) -> np.ndarray:
        """Token ids of sentence `i`, its </s> included."""
        return self.ids[self.offsets[i] : self.offsets[i + 1]]

    @cached_property
    def lengths(self) -> np.ndarray:
        """Tokens of each sentence, </s> included, int64 `[n_sentences]`."""
        return np.diff(self.offsets)

    def select(self, sentences: np.ndarray) -> "TokenFile":
        """These sentences, in this order, as a token file of their own, in memory."""
        lengths = self.lengths[sentences]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        shift = np.repeat(self.offsets[sentences] - offsets[:-1], lengths)
        index = shift + np.arange(offsets[-1])
        return TokenFile(self.ids[index], self.words[index], offsets)
