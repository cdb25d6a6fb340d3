"""Arrays in files, .npy."""

from pathlib import Path

import numpy as np

from bottomup.core.files import damaged, opening


def load_array(path: Path | str, mapped: bool = False) -> np.ndarray:
    """The array in a file, `mapped` into memory or read; UserError if the file is damaged."""
    with opening(path):
        try:
            array = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
        except ValueError as error:  # NumPy's message advises to run what is in the file
            raise damaged(path, "it is no array of numbers, or not whole") from error
        if not array.dtype.isnative:  # torch reads only this machine's order of bytes
            raise damaged(path, f"its numbers are {array.dtype.str}, of another order of bytes")
        return array
