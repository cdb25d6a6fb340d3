"""Confidence intervals by resampling sentences.

Occurrences of one sentence are not independent of each other, sentences nearly are: so whole
sentences are drawn with replacement (Efron and Tibshirani 1993, chapter 8).
"""

import numpy as np
from scipy import sparse

from bottomup import seeds

Z_95 = 1.96
# Bounds the memory for a variable of many values.
VALUES_AT_ONCE = 8192


def resamples(sentences: np.ndarray, n_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """How often each sentence is in each bootstrap sample.

    sentences: `[n]`, the sentence of each occurrence. Returns the sentences' numbers from 0
    `[n]`, and the counts `[n_sentences, n_samples]`, int32, columns summing to n_sentences.
    """
    _, index = np.unique(sentences, return_inverse=True)
    n = index.max() + 1
    drawn = seeds.generator(seed, "bootstrap").integers(n, size=(n, n_samples))
    cells = drawn * n_samples + np.arange(n_samples)
    counts = np.bincount(cells.ravel(), minlength=n * n_samples)
    return index, counts.reshape(n, n_samples).astype(np.int32)


def entropies(values: np.ndarray, index: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Plug-in entropy of a discrete variable in each bootstrap sample: `[n_samples]`, nats.

    values: `[n]`, of any kind that can be sorted; index and counts: from `resamples`.
    """
    _, numbers = np.unique(values, return_inverse=True)
    ones = np.ones(len(numbers), dtype=np.int32)
    occurrences = sparse.csr_array((ones, (numbers, index)))  # [n_values, n_sentences]
    total = np.zeros(counts.shape[1])
    for start in range(0, occurrences.shape[0], VALUES_AT_ONCE):
        n = occurrences[start : start + VALUES_AT_ONCE] @ counts  # [n_values, n_samples]
        total += (n * np.log(np.maximum(n, 1))).sum(0)
    sizes = np.bincount(index) @ counts
    return np.log(sizes) - total / sizes


def interval(value: float, samples: np.ndarray) -> tuple[float, float]:
    """The 95 % interval `value` +- 1.96 standard deviations of the bootstrap `samples`.

    Not the samples' percentiles: estimates of information are biased upwards the more, the
    fewer distinct points they see, and a bootstrap sample sees fewer than the data it comes
    from. Its bias shifts all samples alike and leaves their spread.
    """
    error = Z_95 * np.std(samples, ddof=1)
    return float(value - error), float(value + error)
