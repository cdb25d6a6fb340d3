"""The sentences on which the importance of heads is measured, one a batch."""

import numpy as np
import torch

from bottomup.corpus.specials import EOS
from bottomup.model.beam_search import translate
from bottomup.model.transformer import Transformer
from bottomup.objectives import Example, Objective
from bottomup.seeds import generator
from bottomup.training.batches import Text


def sample(text: Text, n: int, seed: int) -> np.ndarray:
    """`n` sentences of `text`, drawn without replacement, ascending; all if there are fewer."""
    return np.sort(generator(seed, "heads").permutation(len(text.source))[:n])


def references(model: Transformer, objective: Objective, text: Text, seed: int) -> list[Example]:
    """What the objective makes the model predict in each sentence; `seed` draws MLM's masks.

    If the objective predicts nothing, each sentence as it stands.
    """
    return [
        objective.example(
            *text.batch(np.array([sentence])),
            model.config.vocab_size,
            generator(seed, "heads", sentence),
        )
        for sentence in range(len(text.source))
    ]


def translations(
    model: Transformer, text: Text, beam_size: int, length_penalty: float
) -> list[Example]:
    """The model's own translation of each sentence, for it to predict token by token."""
    found = []
    for sentence in range(len(text.source)):
        source, _ = text.batch(np.array([sentence]))
        [ids] = translate(
            model,
            torch.from_numpy(source).to(model.head.weight.device),
            beam_size,
            length_penalty,
            max_length=2 * source.shape[1] + 10,
        )
        target = np.array([[*ids, EOS]])
        found.append(Example(source, target, target))
    return found
