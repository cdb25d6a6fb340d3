"""Extraction: one pass over the text of a reading writes one array of all layers."""

import logging
import os
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from bottomup.core.errors import UserError
from bottomup.corpus.tokens import TokenFile
from bottomup.subjects import Subject
from bottomup.subjects.batches import batches

# The share of a neuron's variance that the number format of the views may take without a word.
LOSS = 0.01

log = logging.getLogger(__name__)


def extract(
    subject: Subject,
    text: TokenFile,
    table: pd.DataFrame,
    file: Path,
    dtype: str,
    batch_tokens: int,
    device: torch.device,
) -> None:
    """Write the representations of the table's occurrences, `[layers + 1, n, d_model]`.

    text: as the subject reads it. table: rows in text order, with `text` and `position`, which is
    below 0 for an occurrence that the subject does not see; its representations are NaN. If an
    occurrence is a mean of tokens, these go from `first` to `position`. file: .npy. dtype:
    "float16" or "float32". batch_tokens: padded tokens to encode at once.
    """
    shape = (subject.layers + 1, len(table), subject.d_model)
    views = np.lib.format.open_memmap(file, "w+", dtype, shape)
    reserve(file)
    lost = [Lost(subject.d_model) for _ in views]
    subject.model.to(device)
    positions = table["position"].to_numpy()
    firsts = table.get("first", table["position"]).to_numpy()
    bounds = np.searchsorted(table["text"].to_numpy(), np.arange(len(text) + 1))
    for batch in batches(subject, text, batch_tokens):
        sentences = batch.sentences
        hidden_states = subject.hidden_states(batch.ids.to(device), lengths=batch.lengths)
        counts = bounds[sentences + 1] - bounds[sentences]
        rows = np.concatenate([np.arange(bounds[s], bounds[s + 1]) for s in sentences])
        row_in_batch = np.repeat(np.arange(len(sentences)), counts)
        for view, states, of_layer in zip(views, hidden_states, lost, strict=True):
            places = row_in_batch, firsts[rows], positions[rows]
            exact = means(states.cpu().numpy(), *places)
            with np.errstate(over="ignore"):  # `check_finite` tells of it
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

    Otherwise the first page of a memory map without space would kill the program silently.
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
    """The mean over the tokens from each of `firsts` to its `lasts`, in their `sentences`, `[n]`.

    states: `[batch, length, d_model]`. Returns `[n, d_model]`; one token keeps its own bits.
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
    """How much of what its neurons say a layer loses to the number format of the views.

    float16 has 11 digits in base 2, and none below 6e-8. So a neuron that varies little about a
    large mean, or is tiny, may be lost.
    """

    def __init__(self, d_model: int):
        self.n, self.center = 0, None
        self.sums, self.squares, self.errors = np.zeros((3, d_model))

    def add(self, exact: np.ndarray, written: np.ndarray) -> None:
        """Count rows as they are, and as they were written: `[n, d_model]`."""
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
