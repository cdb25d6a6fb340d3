"""Replaced-token detection (Clark et al. 2020, ELECTRA, arXiv 2003.10555, section 3.2)."""

import numpy as np
from pydantic import Field

from bottomup import objectives
from bottomup.corpus.specials import EOS, PAD
from bottomup.objectives import IGNORE, Example

ORIGINAL, REPLACED = 0, 1


class Objective(objectives.Objective):
    """Predict for each token whether it has replaced another.

    Replacements are drawn by how frequent they are. This is the paper's unigram generator; its main
    generator is a masked model that is trained beside the other. A token that is drawn in its own
    place is original, as in the paper. A model that always says "original" has an accuracy of about
    1 - `choose`.
    """

    accuracy = "class_accuracy"
    masked = True

    choose: float = Field(0.15, ge=0.01, lt=1, description="share of tokens to replace")

    @property
    def n_classes(self) -> int:
        return 2

    @property
    def read_as(self) -> list[str]:
        return ["replaced"]

    def example(self, source, target, vocab_size, rng) -> Example:
        read = self.corrupt(source, self.chosen(source, rng), vocab_size, rng)
        classes = np.where(read == source, ORIGINAL, REPLACED)
        return Example(read, None, np.where(is_token(source), classes, IGNORE))

    def chosen(self, source: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Which tokens are replaced; never </s> or padding."""
        return is_token(source) & (rng.random(source.shape) < self.choose)

    def corrupt(
        self, source: np.ndarray, chosen: np.ndarray, vocab_size: int, rng: np.random.Generator
    ) -> np.ndarray:
        """`source` with each chosen token replaced by that of a random place."""
        read = source.copy()
        if chosen.any():
            read[chosen] = rng.choice(source[is_token(source)], chosen.sum())
        return read


def is_token(source: np.ndarray) -> np.ndarray:
    """Where a token stands that is neither </s> nor padding."""
    return (source != PAD) & (source != EOS)
