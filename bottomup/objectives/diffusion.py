"""Masked diffusion (Sahoo et al. 2024, arXiv 2406.07524; Nie et al. 2025, arXiv 2502.09992).

Each sentence is read with a share t of its tokens hidden, from hardly any to all, and the hidden
ones are predicted. Averaged over t drawn evenly, the summed loss divided by t bounds the
sentence's negative log-likelihood. Here t is drawn with a density proportional to 1 / t, so the
plain sum is that bound, but for a factor. So training needs no weights, which would be large where
few tokens are hidden.

Training departs from the bound in one thing: an update divides the sum by the number of tokens that
its batch happens to hide, and not by a constant. So batches that hide little weigh more, which
matters where a batch has few sentences (docs/decisions.md).
"""

import math

import numpy as np
from pydantic import Field

from bottomup import objectives
from bottomup.corpus.specials import EOS, MASK, PAD
from bottomup.objectives import IGNORE, Example


class Objective(objectives.Objective):
    """Predict hidden tokens; their share is drawn anew for each sentence."""

    accuracy = "masked_accuracy"
    masked = True

    least: float = Field(0.01, ge=0.001, lt=1, description="the smallest share of tokens to hide")

    @property
    def predictions_a_token(self) -> float:
        """The mean share of tokens to hide."""
        return (1 - self.least) / self.scale

    @property
    def scale(self) -> float:
        """By what factor the bound is larger than the sum of losses: the integral of 1 / t."""
        return -math.log(self.least)

    def example(self, source, target, vocab_size, rng) -> Example:
        chosen = self.chosen(source, rng)
        read = self.corrupt(source, chosen, vocab_size, rng)
        return Example(read, None, np.where(chosen, source, IGNORE))

    def chosen(self, source: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Which tokens are hidden and to be predicted; never </s> or padding."""
        ends = source.ravel() == EOS
        sentence = np.cumsum(ends) - ends  # padding gets the next number, with no effect
        share = (self.least ** rng.random(ends.sum() + 1))[sentence].reshape(source.shape)
        return (source != PAD) & (source != EOS) & (rng.random(source.shape) < share)

    def corrupt(
        self, source: np.ndarray, chosen: np.ndarray, vocab_size: int, rng: np.random.Generator
    ) -> np.ndarray:
        """`source` with every chosen token masked."""
        return np.where(chosen, MASK, source)
