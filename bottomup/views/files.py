"""Views in files, as `extract` writes them."""

from pathlib import Path

import numpy as np

from bottomup.core.errors import UserError
from bottomup.core.files import damaged
from bottomup.core.files.arrays import load_array


def load(path: Path | str, n_occurrences: int, unit: str = "subword") -> np.ndarray:
    """The views in a file, memory-mapped: `[layers + 1, n_occurrences, d_model]`, layer 0 first.

    unit: what an occurrence is, "subword" or "word". Words that the run does not see are NaN in all
    layers; it sees all sub-words.

    Raises UserError if there is not one row for each occurrence, or if a row is neither finite nor
    an unseen word.
    """
    views = load_array(path, mapped=True)
    if views.ndim != 3 or views.dtype.kind != "f":
        raise damaged(path, f"{views.dtype} of shape {views.shape}, expected floats [layers, n, d]")
    if views.shape[1] != n_occurrences:
        raise UserError(
            f"{path} has {views.shape[1]} rows; allowed: one for each of the {n_occurrences} rows "
            f"of the occurrence table; extract the views again from this table"
        )
    _check_finite(path, views, unit)
    return views


def _check_finite(path: Path | str, views: np.ndarray, unit: str) -> None:
    broken = np.array([~np.isfinite(view).all(axis=1) for view in views])
    if unit == "word":
        rows = np.flatnonzero(broken.all(axis=0))
        unseen = rows[np.isnan(views[:, rows]).all(axis=(0, 2))]
        broken[:, unseen] = False
    if broken.any():
        row = int(np.flatnonzero(broken.any(axis=0))[0])
        layers = ", ".join(map(str, np.flatnonzero(broken[:, row])))
        raise UserError(
            f"{path} holds NaN or infinity at {broken.any(axis=0).sum()} of {broken.shape[1]} "
            f"occurrences, first in row {row} at layers {layers}; allowed: finite numbers"
            f"{', or NaN in all layers of a word that is not seen' if unit == 'word' else ''}; "
            f"extract the views again; if that changes nothing, the run has diverged"
        )
