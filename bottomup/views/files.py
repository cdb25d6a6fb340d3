"""Views in files, as `extract` writes them."""

from pathlib import Path

import numpy as np

from bottomup.errors import UserError
from bottomup.files import damaged
from bottomup.files.arrays import load_array


def load(path: Path | str, n_occurrences: int) -> np.ndarray:
    """The views in a file, memory-mapped: `[layers + 1, n_occurrences, d_model]`, layer 0 first.

    Raises UserError if they do not have one row for each occurrence.
    """
    views = load_array(path, mapped=True)
    if views.ndim != 3 or views.dtype.kind != "f":
        raise damaged(path, f"it has the shape {views.shape} in {views.dtype}, of no views")
    if views.shape[1] != n_occurrences:
        raise UserError(
            f"{path} has {views.shape[1]} rows; allowed: one for each of the {n_occurrences} rows "
            f"of the occurrence table; extract the views again from this table"
        )
    return views
