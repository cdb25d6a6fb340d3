"""What an objective asks a model in a text, batch by batch."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from bottomup.core.seeds import generator
from bottomup.corpus.batches import Text, in_order
from bottomup.objectives import Example, Objective

BATCH_TOKENS = 2048  # it affects results: masks are drawn by batch


def examples(
    objective: Objective, text: Text, vocab_size: int, batch_tokens: int, seed: int
) -> Iterator[tuple[np.ndarray, Example]]:
    """The sentences of each batch, by their numbers, and their example. `seed` draws masks."""
    for index, sentences in enumerate(in_order(text, batch_tokens)):
        rng = generator(seed, "quality", index)
        yield sentences, objective.example(*text.batch(sentences), vocab_size, rng)


def tensors(example: Example, device: torch.device | str) -> tuple[Tensor, Tensor | None, Tensor]:
    """Source, target and labels of an example on a device."""
    source, labels = (torch.from_numpy(x).to(device) for x in (example.source, example.labels))
    target = None if example.target is None else torch.from_numpy(example.target).to(device)
    return source, target, labels
