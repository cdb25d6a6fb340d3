"""Intervals for PWCCA: sentences are dealt into blocks, of which samples hold one half.

All that PWCCA needs of a sample are its moments, and those are the sums of the moments of its
blocks: a sample costs no pass over the views. As whole sentences are dealt at random, blocks vary
as sentences do, known from `BLOCKS` - 1 degrees of freedom.

Half of the blocks, drawn without replacement, spread about the whole as the whole does about the
truth (half-sampling: Efron 1982, "The Jackknife, the Bootstrap and Other Resampling Plans", chapter
8). Drawn with replacement, samples would hold more or fewer distinct points, and PWCCA is biased
downwards the more, the fewer there are: where points are few, that spread is most of theirs.
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

    kinds: (variant, weights), see `pwcca.distances`; n_samples: samples of half of the blocks.
    Rows of a table, one for each kind: distance, ci_low, ci_high, n_occurrences. Of a single block
    there is no interval: NaN.
    """
    whole = merged(blocks, np.ones(len(blocks), dtype=int))
    values = pwcca.distances(whole, kinds)
    if len(blocks) > 1:
        halves = half_samples(len(blocks), n_samples, seed)
        pwcca.warn_of_few(merged(blocks, halves[0]))
        samples = np.array([pwcca.distances(merged(blocks, half), kinds) for half in halves])
    else:
        samples = np.full((n_samples, len(kinds)), np.nan)
    rows = []
    for value, of_kind in zip(values, samples.T, strict=True):
        low, high = bootstrap.interval(value, of_kind)
        row = {"distance": float(value), "ci_low": low, "ci_high": high}
        rows.append({**row, "n_occurrences": whole.n})
    return rows


def half_samples(n_blocks: int, n_samples: int, seed: int) -> np.ndarray:
    """How often each block is in each sample, 0 or 1, half of them 1 (of an odd number the lesser
    half, which spreads a little more): int `[n_samples, n_blocks]`."""
    order = generator(seed, "half-samples").random((n_samples, n_blocks)).argsort(axis=1)
    return (order < n_blocks // 2).astype(int)
