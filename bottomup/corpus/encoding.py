"""Writing token files."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from bottomup.corpus.tokens import NO_WORD


def encode(
    tokenizer: Tokenizer,
    batches: Iterable[list[str]],
    ids: str | Path,
    words: str | Path,
    offsets: str | Path,
) -> None:
    """Write the three arrays of a token file (see `tokens.TokenFile`), batch by batch."""
    with (
        _ArrayFile(ids, np.int32) as id_file,
        _ArrayFile(words, np.int32) as word_file,
        _ArrayFile(offsets, np.int64) as offset_file,
    ):
        offset_file.write(np.zeros(1, np.int64))
        for texts in batches:
            # encode_batch_fast would lose the words.
            encodings = tokenizer.encode_batch(texts)
            ends = id_file.length + np.cumsum([len(encoding) for encoding in encodings])
            id_file.write(_flat(encoding.ids for encoding in encodings))
            word_file.write(_flat(map(_words, encodings)))
            offset_file.write(ends)


def _words(encoding) -> list[int]:
    return [NO_WORD if word is None else word for word in encoding.word_ids]


def _flat(lists: Iterable[list[int]]) -> np.ndarray:
    return np.fromiter(chain.from_iterable(lists), dtype=np.int32)


class _ArrayFile:
    """A one-dimensional .npy file whose length is known only at its end."""

    def __init__(self, path: str | Path, dtype: type) -> None:
        self.length = 0
        self._path = Path(path)
        self._dtype = np.dtype(dtype)

    def write(self, values: np.ndarray) -> None:
        self.length += len(values)
        self._file.write(values.astype(self._dtype).tobytes())

    def __enter__(self) -> "_ArrayFile":
        self._file = self._path.open("wb")
        self._write_header()
        return self

    def __exit__(self, *_: object) -> None:
        # NumPy leaves space in the header for a longer length.
        self._file.seek(0)
        self._write_header()
        self._file.close()

    def _write_header(self) -> None:
        header = {"descr": self._dtype.str, "fortran_order": False, "shape": (self.length,)}
        np.lib.format.write_array_header_1_0(self._file, header)
