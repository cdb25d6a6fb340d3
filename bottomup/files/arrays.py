"""Arrays in files, .npy."""

from pathlib import Path

import numpy as np

from bottomup.files import opening


def load_array(path: Path | str, mapped: bool = False) -> np.ndarray:
    """The array in a file, `mapped` into memory or read; UserError if the file is damaged."""
    with opening(path):
        return np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
