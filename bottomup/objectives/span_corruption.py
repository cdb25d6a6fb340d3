"""Span corruption, as in T5 (Raffel et al. 2020, arXiv 1910.10683)."""

import numpy as np
from pydantic import Field

from bottomup.corpus.batches import stacked
from bottomup.corpus.specials import PAD
from bottomup.objectives import IGNORE, Example, denoising
from bottomup.objectives.denoising import SPAN


class Objective(denoising.Objective):
    """The decoder writes the hidden spans of a sentence, of which the encoder reads the rest.

    A share `hide` of the tokens is hidden, in spans of mean length 3; all divisions into spans are
    equally probable. The encoder reads a <mask> in place of each span, and the decoder writes one
    before each span. T5 numbers these masks.
    """

    hide: float = Field(0.15, ge=0.01, lt=1, description="share of tokens to hide")

    def example(self, source, target, vocab_size, rng) -> Example:
        read, written = zip(*(self.parted(row, rng) for row in source), strict=True)
        spans = stacked(written)
        return Example(stacked(read), spans, np.where(spans == PAD, IGNORE, spans))

    def predicts_of(self, source, target) -> float:
        hidden, spans = self.sizes(source - 1)
        return float((hidden + spans + 1).sum())

    def reads_of(self, source, target) -> float:
        hidden, spans = self.sizes(source - 1)
        return float((source - hidden + spans).sum())

    def sizes(self, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How many tokens are hidden in sentences of `n` tokens, and in how many spans."""
        hidden = np.rint(self.hide * n).clip(1).clip(max=n).astype(int)
        return hidden, np.rint(hidden / SPAN).clip(1).astype(int)

    def lengths(self, n: int, rng: np.random.Generator) -> np.ndarray:
        n_hidden, n_spans = map(int, self.sizes(np.array(n)))
        cuts = rng.permutation(np.arange(1, max(n_hidden, 1)))[: n_spans - 1]
        return np.diff(np.sort(cuts), prepend=0, append=n_hidden)
