"""Sums for each head in each sentence, which give means over all sentences or some of them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from bottomup.measures import jackknife

ByKind = dict[str, np.ndarray]
# The range of each importance; the others are shares.
RANGES = {"gradient": jackknife.NOT_NEGATIVE, "loss_increase": jackknife.ANY}


@dataclass
class Totals:
    """Sums over tokens or predictions, sentence by sentence, by kind of attention.

    sums: a list of `[sentences, layers, heads]`, one for each batch. counts: the number of terms of
    each sum, a list of `[sentences]`.
    """

    sums: dict[str, list[np.ndarray]] = field(default_factory=dict)
    counts: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def add(self, kind: str, sums: Tensor, counts: Tensor) -> None:
        """Add a batch: sums `[sentences, layers, heads]` and counts `[sentences]`."""
        self.sums.setdefault(kind, []).append(sums.double().cpu().numpy())
        self.counts.setdefault(kind, []).append(counts.cpu().numpy())

    def empty(self) -> bool:
        """Whether there was nothing to add up."""
        return not any(np.concatenate(counts).any() for counts in self.counts.values())

    def mean(self) -> ByKind:
        """Mean over all terms of all sentences, `[layers, heads]` by kind; NaN if there are
        none."""
        return {
            kind: jackknife.ratio(
                np.concatenate(sums).sum(axis=0), np.concatenate(self.counts[kind]).sum()
            )
            for kind, sums in self.sums.items()
        }

    def without(self, blocks: np.ndarray, count: int) -> ByKind:
        """The mean without each block, `[layers, heads, count]` by kind.

        blocks: the block of each sentence, in the order they were added, below `count`.
        """
        means = {}
        for kind, parts in self.sums.items():
            sums, counts = np.concatenate(parts), np.concatenate(self.counts[kind])
            sums, counts = (jackknife.sums_without(x, blocks, count) for x in (sums, counts))
            means[kind] = np.moveaxis(jackknife.ratio(sums, counts[:, None, None]), 0, -1)
        return means

    def rows(self, importance: str, blocks: np.ndarray, count: int) -> Iterator[dict]:
        """Rows of a table for one importance: attention, layer and head from 1, the mean as an
        estimate, and n, the number of terms. `blocks` and `count` are those of `without`."""
        without, within = self.without(blocks, count), RANGES.get(importance, jackknife.UNIT)
        for kind, means in self.mean().items():
            n = int(np.concatenate(self.counts[kind]).sum())
            for (layer, head), value in np.ndenumerate(means):
                place = {"attention": kind, "layer": layer + 1, "head": head + 1}
                estimate = jackknife.estimate("value", value, without[kind][layer, head], within)
                yield place | {"importance": importance} | estimate | {"n": n}
