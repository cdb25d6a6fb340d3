"""Intervals for PWCCA: sentences are dealt into blocks, and blocks are drawn with replacement.

All that PWCCA needs of a bootstrap sample are its moments, and those are the sums of the moments of
the blocks drawn: a sample costs no pass over the views. As whole sentences are dealt at random, the
spread over samples of blocks is that over samples of sentences, known from `BLOCKS` - 1 degrees of
freedom.
"""

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from bottomup.measures import bootstrap, pwcca
from bottomup.seeds import generator
from bottomup.views.moments import Moments, merged

BLOCKS = 20


def deal(sentences: np.ndarray, seed: int) -> list[np.ndarray]:
    """Deal sentences into `BLOCKS` blocks: the rows of each block, ascending.

    sentences: `[n]`, the sentence of each row. Blocks hold as many sentences as each other, to one;
    with fewer than `BLOCKS` sentences, each is a block.
    """
    _, index = np.unique(sentences, return_inverse=True)
    n_sentences = index.max() + 1
    n_blocks = min(BLOCKS, n_sentences)
    block = generator(seed, "blocks").permutation(n_sentences)[index] % n_blocks
    return [np.flatnonzero(block == number) for number in range(n_blocks)]


def moments_of_blocks(
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    sentences: np.ndarray,
    seed: int,
    device: torch.device | str = "cpu",
) -> list[Moments]:
    """The moments of two views `[n, d_x]` and `[n, d_y]`, a part for each block of sentences."""
    return [pwcca.moments_of(x[rows], y[rows], device) for rows in deal(sentences, seed)]


def distances(
    blocks: list[Moments], kinds: list[tuple[str, str]], n_samples: int, seed: int
) -> list[dict]:
    """PWCCA distances of the blocks taken together, with 95 % intervals.

    kinds: (variant, weights), see `pwcca.distances`; n_samples: bootstrap samples of blocks.
    Rows of a table, one for each kind: distance, ci_low, ci_high, n_occurrences.
    """
    whole = merged(blocks, np.ones(len(blocks), dtype=int))
    pwcca.warn_of_few(whole)
    _, counts = bootstrap.resamples(np.arange(len(blocks)), n_samples, seed)
    values = pwcca.distances(whole, kinds)
    samples = np.array([pwcca.distances(merged(blocks, column), kinds) for column in counts.T])
    rows = []
    for value, of_kind in zip(values, samples.T, strict=True):
        low, high = bootstrap.interval(value, of_kind)
        row = {"distance": float(value), "ci_low": low, "ci_high": high}
        rows.append({**row, "n_occurrences": whole.n})
    return rows
