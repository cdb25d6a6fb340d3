"""The sentences on which the importance of heads is measured, one an example."""

from collections.abc import Iterator

import numpy as np
import torch

from bottomup.core.seeds import generator
from bottomup.corpus.batches import Text, split_by_size
from bottomup.corpus.specials import EOS, PAD
from bottomup.model.beam_search import translate
from bottomup.model.transformer import Transformer
from bottomup.objectives import IGNORE, Example, Objective


def sample(text: Text, n: int, seed: int) -> np.ndarray:
    """`n` sentences of `text`, drawn without replacement, shortest first; all if there are
    fewer."""
    some = np.sort(generator(seed, "heads").permutation(len(text.source))[:n])
    return some[np.argsort(text.lengths[some], kind="stable")]


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


def together(examples: list[Example], batch_tokens: int) -> Iterator[Example]:
    """Consecutive sentences in batches of at most `batch_tokens` on the side that is predicted,
    padding included."""
    predicted = [
        example.source if example.target is None else example.target for example in examples
    ]
    lengths = np.array([ids.shape[1] for ids in predicted])
    for rows in split_by_size(lengths, np.arange(len(examples)), batch_tokens):
        some = [examples[row] for row in rows]
        # Labels of two directions are padded each by itself.
        labels = [examples[row].labels.reshape(-1, lengths[row]) for row in rows]
        yield Example(
            _padded([example.source for example in some], PAD),
            None if some[0].target is None else _padded([example.target for example in some], PAD),
            _padded(labels, IGNORE),
        )


def _padded(sentences: list[np.ndarray], padding: int) -> np.ndarray:
    """`[n, parts * longest]` from sentences of `[parts, length]`, each part padded on the right."""
    longest = max(sentence.shape[1] for sentence in sentences)
    widths = [[(0, 0), (0, longest - sentence.shape[1])] for sentence in sentences]
    return np.stack(
        [
            np.pad(sentence, width, constant_values=padding).ravel()
            for sentence, width in zip(sentences, widths, strict=True)
        ]
    )
