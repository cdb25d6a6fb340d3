"""Views in files, as `extract` writes them."""

from pathlib import Path

import numpy as np

from bottomup.errors import UserError


def load(path: Path | str, n_occurrences: int) -> np.ndarray:
    """The view `[n_occurrences, d_model]` in a file, memory-mapped.

    Raises UserError if it has not a row for each occurrence.
    """
    view = np.load(path, mmap_mode="r", allow_pickle=False)
    if len(view) != n_occurrences:
        raise UserError(
            f"{path} has {len(view)} rows; allowed: one for each of the {n_occurrences} rows of "
            f"the occurrence table; extract the views again from this table"
        )
    return view
