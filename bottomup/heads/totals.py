"""What was found of each head in each sentence, from which follow means and intervals."""

from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from bottomup.measures.bootstrap import Z_95, resamples

ByKind = dict[str, np.ndarray]


@dataclass
class Totals:
    """Sums over tokens or predictions, sentence by sentence, by kind of attention.

    sums: a list of `[sentences, layers, heads]`, one for each batch; counts: how many terms they
    have, a list of `[sentences]`.
    """

    sums: dict[str, list[np.ndarray]] = field(default_factory=dict)
    counts: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def add(self, kind: str, sums: Tensor, counts: Tensor) -> None:
        """A batch: sums `[sentences, layers, heads]` and counts `[sentences]`."""
        self.sums.setdefault(kind, []).append(sums.double().cpu().numpy())
        self.counts.setdefault(kind, []).append(counts.cpu().numpy())

    def empty(self) -> bool:
        """Whether there was nothing to add up."""
        return not any(np.concatenate(counts).any() for counts in self.counts.values())

    def mean(self) -> ByKind:
        """Mean over all terms of all sentences, `[layers, heads]` by kind; NaN where none are."""
        with np.errstate(invalid="ignore"):
            return {
                kind: np.concatenate(sums).sum(axis=0) / np.concatenate(self.counts[kind]).sum()
                for kind, sums in self.sums.items()
            }

    def error(self, samples: int, seed: int) -> ByKind:
        """Half the width of the mean's 95 % interval, `[layers, heads]` by kind.

        1.96 standard deviations over `samples` bootstrap samples of the sentences.
        """
        errors = {}
        for kind, parts in self.sums.items():
            sums, counts = np.concatenate(parts), np.concatenate(self.counts[kind])
            _, drawn = resamples(np.arange(len(sums)), samples, seed)
            totals = np.tensordot(drawn, sums, axes=(0, 0))  # [samples, layers, heads]
            with np.errstate(invalid="ignore"):
                means = totals / (counts @ drawn)[:, None, None]
            errors[kind] = Z_95 * means.std(axis=0, ddof=1)
        return errors
