"""A text, batch by batch, as a subject reads it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bottomup.corpus.batches import Text, in_order, padded
from bottomup.corpus.tokens import TokenFile
from bottomup.subjects.subject import Subject


@dataclass(frozen=True)
class Batch:
    """Sentences side by side, padded on the right. Lengths decide what is padding, never ids.

    sentences: their numbers in the text, `[batch]`. lengths: the tokens of each, `[batch]`. The
    others are `[batch, length]`: ids; tokens, whether a place is a token and no padding; special,
    whether it is a token that is not part of the text; index, the token's place in the text, 0 for
    padding.
    """

    sentences: np.ndarray
    ids: Tensor
    lengths: Tensor
    tokens: np.ndarray
    special: np.ndarray
    index: np.ndarray


def batches(subject: Subject, text: TokenFile, batch_tokens: int) -> Iterator[Batch]:
    """All sentences once, of similar length side by side; batch_tokens: padded tokens at once."""
    for sentences in in_order(Text(text), batch_tokens):
        yield side_by_side(subject, text, sentences)


def side_by_side(subject: Subject, text: TokenFile, sentences: np.ndarray) -> Batch:
    """Some sentences of a text, by their numbers, as a batch."""
    ids, lengths = padded(text, sentences, subject.padding), text.lengths[sentences]
    columns = np.arange(ids.shape[1])
    tokens = columns < lengths[:, None]
    index = np.where(tokens, text.offsets[sentences][:, None] + columns, 0)
    special = tokens & text.special[index]
    of_torch = torch.from_numpy(ids), torch.from_numpy(lengths)
    return Batch(sentences, *of_torch, tokens, special, index)


def states(subject: Subject, text: TokenFile, kept: np.ndarray, batch_tokens: int) -> np.ndarray:
    """The representations of some tokens of a text, float32 `[layers + 1, n_kept, d_model]`.

    kept: which tokens, bool `[n_tokens]`.
    """
    row = np.cumsum(kept) - 1
    views = np.empty((subject.layers + 1, kept.sum(), subject.d_model), dtype=np.float32)
    for batch in batches(subject, text, batch_tokens):
        some = batch.tokens & kept[batch.index]
        layers = subject.hidden_states(batch.ids, lengths=batch.lengths)
        for view, layer in zip(views, layers, strict=True):
            view[row[batch.index[some]]] = layer.cpu().numpy()[some]
    return views
