"""The sentences on which the importance of heads is measured, one an example."""

from collections.abc import Iterator, Sequence

import numpy as np

from bottomup.core.seeds import generator
from bottomup.corpus.batches import Text, split_by_size
from bottomup.corpus.specials import PAD
from bottomup.heads.predictor import Predictor
from bottomup.objectives import IGNORE, Example


def sample(text: Text, n: int, seed: int) -> np.ndarray:
    """`n` sentences of `text`, drawn without replacement, shortest first; all if there are
    fewer."""
    some = np.sort(generator(seed, "heads").permutation(len(text.source))[:n])
    return some[np.argsort(text.lengths[some], kind="stable")]


def references(predictor: Predictor, text: Text, seed: int) -> list[Example]:
    """What the objective makes the model predict in each sentence; `seed` draws masks.

    If the objective predicts nothing, each sentence as it stands.
    """
    return [
        predictor.example(text, np.array([sentence]), generator(seed, "heads", sentence))
        for sentence in range(len(text.source))
    ]


def together(examples: Sequence[Example], batch_tokens: int) -> Iterator[Example]:
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
