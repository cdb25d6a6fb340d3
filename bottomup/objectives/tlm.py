"""Translation language modeling, as in XLM (Lample and Conneau 2019, arXiv 1901.07291)."""

import numpy as np
from pydantic import Field, PrivateAttr

from bottomup.corpus.batches import stacked
from bottomup.corpus.specials import N_SPECIAL, PAD
from bottomup.objectives import Example, mlm


class Objective(mlm.Objective):
    """MLM on a sentence and, after its </s>, its translation; one encoder reads both.

    Positions of the translation start again at 0, and a learned vector is added to its tokens. Its
    vocabulary follows that of the source side; special tokens are the same. Some sentences stand
    alone, as they do when a model is measured. (XLM trains by MLM and TLM in turn.)
    """

    predicts = "both"

    alone: float = Field(
        0.5, ge=0, le=0.99, description="share of sentences without their translation"
    )
    _n_source: int = PrivateAttr()

    def predicts_of(self, source, target) -> float:
        beside = (1 - self.alone) * super().predicts_of(target, None)
        return super().predicts_of(source, None) + beside

    def reads_of(self, source, target) -> float:
        return float(source.sum() + (1 - self.alone) * target.sum())

    def learn_types(self, types: list[str]) -> None:
        self._n_source = len(types)

    def example(self, source, target, vocab_size, rng) -> Example:
        assert target is not None
        moved = np.where(target < N_SPECIAL, target, target + self._n_source - N_SPECIAL)
        moved[rng.random(len(target)) < self.alone] = PAD
        pairs = np.concatenate([source, moved], axis=1)
        return super().example(stacked([row[row != PAD] for row in pairs]), None, vocab_size, rng)
