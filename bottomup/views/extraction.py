"""Extraction: one pass over the text of a reading writes one array of all layers."""

import logging
import os
from pathlib import Path

import numpy as np
import pandas as pd

from bottomup.core.errors import UserError
from bottomup.corpus.tokens import TokenFile
from bottomup.subjects import Subject
from bottomup.subjects.batches import batches

# The share of a neuron's variance that rounding to the views' number format may lose without a
# warning.
LOSS = 0.01

log = logging.getLogger(__name__)


def extract(
    subject: Subject,
    text: TokenFile,
    table: pd.DataFrame,
    file: Path,
    dtype: str,
    batch_tokens: int,
) -> None:
    """Write the representations of the table's occurrences, `[layers + 1, n, d_model]`.

    text: as the subject reads it. table: rows in text order, with columns `text` and `position`. An
    occurrence with a position below 0 is one that the subject does not see; its representations are
    NaN. If there is a column `first`, an occurrence is the mean of the tokens from `first` to
    `position`. file: .npy. dtype: "float16" or "float32". batch_tokens: padded tokens to encode at
    once.

    Raises UserError if a representation is not finite in `dtype`, and OSError if the disk is full.
    """
    shape = (subject.layers + 1, len(table), subject.d_model)
    views = np.lib.format.open_memmap(file, "w+", dtype, shape)
    reserve(file)
    lost = [Lost(subject.d_model) for _ in views]
    positions = table["position"].to_numpy()
    firsts = table.get("first", table["position"]).to_numpy()
    bounds = np.searchsorted(table["text"].to_numpy(), np.arange(len(text) + 1))
    for batch in batches(subject, text, batch_tokens):
        sentences = batch.sentences
        hidden_states = subject.hidden_states(batch.ids, lengths=batch.lengths)
        counts = bounds[sentences + 1] - bounds[sentences]
        rows = np.concatenate([np.arange(bounds[s], bounds[s + 1]) for s in sentences])
        row_in_batch = np.repeat(np.arange(len(sentences)), counts)
        for view, states, of_layer in zip(views, hidden_states, lost, strict=True):
            places = row_in_batch, firsts[rows], positions[rows]
            exact = means(states.cpu().numpy(), *places)
            with np.errstate(over="ignore"):  # for `check_finite`
                view[rows] = exact
            seen = positions[rows] >= 0
            of_layer.add(exact[seen], view[rows[seen]])
    check_finite(views)
    for layer, of_layer in enumerate(lost):
        of_layer.warn(layer, views.dtype)
    views[:, positions < 0] = np.nan
    views.flush()


def reserve(file: Path) -> None:
    """Reserve a file's space on the disk; raises OSError if there is too little.

    Without this, the program would be killed silently when a page of the memory map finds no space.
    """
    if not hasattr(os, "posix_fallocate"):  # as on macOS
        return
    with file.open("r+b") as opened:
        try:
            os.posix_fallocate(opened.fileno(), 0, file.stat().st_size)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(file)) from error


def means(
    states: np.ndarray, sentences: np.ndarray, firsts: np.ndarray, lasts: np.ndarray
) -> np.ndarray:
    """The mean of the states of tokens `firsts[i]` to `lasts[i]` of sentence `sentences[i]`.

    states: `[batch, length, d_model]`; the others `[n]`. Returns `[n, d_model]`. The mean of one
    token has the same bits as its state.
    """
    lengths = lasts - firsts + 1
    starts = np.cumsum(lengths) - lengths
    places = np.arange(lengths.sum()) + np.repeat(firsts - starts, lengths)
    tokens = states[np.repeat(sentences, lengths), places]
    if len(tokens) == len(lengths):
        return tokens
    sums = np.add.reduceat(tokens, starts, axis=0)
    return sums / lengths[:, None].astype(states.dtype)


class Lost:
    """How much of the variance of a layer's neurons is lost to the number format of the views.

    float16 has 11 binary digits and no number below 6e-8. So a neuron that varies little about a
    large mean, or that is tiny, may be lost.
    """

    def __init__(self, d_model: int):
        self.n, self.center = 0, None
        self.sums, self.squares, self.errors = np.zeros((3, d_model))

    def add(self, exact: np.ndarray, written: np.ndarray) -> None:
        """Add rows, exact and as they were written, both `[n, d_model]`."""
        if not len(exact):
            return
        if self.center is None:
            self.center = exact[0].astype(np.float64)
        deviations = exact - self.center
        with np.errstate(invalid="ignore", over="ignore"):
            self.errors += np.square(written - exact.astype(np.float64)).sum(0)
        self.n += len(exact)
        self.sums += deviations.sum(0)
        self.squares += np.square(deviations).sum(0)

    def shares(self) -> np.ndarray:
        """The error as a share of the variance, `[d_model]`; 0 for a neuron that does not vary."""
        scatter = self.squares - np.square(self.sums) / max(self.n, 1)
        return np.divide(self.errors, scatter, out=np.zeros_like(scatter), where=scatter > 0)

    def warn(self, layer: int, dtype: np.dtype) -> None:
        """Warn of neurons that lose more than `LOSS` of their variance."""
        shares = self.shares()
        many = int((shares > LOSS).sum())
        if many:
            log.warning(
                f"layer {layer}: {many} of {len(shares)} neurons lose more than {LOSS:.0%} of "
                f"their variance in {dtype}, neuron {shares.argmax()} the most, "
                f"{shares.max():.2g} times it; set views.dtype to float32"
            )


def check_finite(views: np.ndarray) -> None:
    """Raise UserError if a value does not fit into the number format of the views."""
    for layer, view in enumerate(views):
        if not np.isfinite(view).all():
            raise UserError(
                f"representations of layer {layer} are too large for {view.dtype}; "
                + (
                    "set views.dtype to float32"
                    if view.dtype == np.float16
                    else "the model is damaged or has diverged: make it again"
                )
            )
