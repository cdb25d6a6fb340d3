"""Masked language modeling (Devlin et al. 2019) on the source side."""

import numpy as np
from pydantic import Field, model_validator

from bottomup import objectives
from bottomup.corpus.specials import EOS, MASK, N_SPECIAL, PAD
from bottomup.objectives import IGNORE, Example

LEAST = 0.01  # of a share above 0: with less, hardly a token of a small text is affected


class Objective(objectives.Objective):
    """Predict a random choice of tokens, most of them hidden from the model."""

    accuracy = "masked_accuracy"
    masked = True

    choose: float = Field(0.15, ge=0.01, lt=1, description="share of tokens to predict")
    mask: float = Field(0.8, ge=0, le=1, description="share of these read as <mask>")
    replace: float = Field(0.1, ge=0, le=1, description="share of these read as any token")

    @model_validator(mode="after")
    def shares_of_one(self) -> "Objective":
        if self.mask + self.replace > 1:
            raise ValueError("`mask` and `replace` must not exceed 1 together")
        if any(0 < share < LEAST for share in (self.mask, self.replace)):
            raise ValueError(f"allowed for `mask` and `replace`: 0, or at least {LEAST}")
        if self.mask == self.replace == 0:
            raise ValueError(
                "`mask` and `replace` are 0, so the model would read all that it predicts; "
                "allowed: one of them above 0"
            )
        return self

    @property
    def predictions_a_token(self) -> float:
        return self.choose

    @property
    def read_as(self) -> list[str]:
        """What becomes of a chosen token that is not kept."""
        shares = {"masked": self.mask, "replaced": self.replace}
        return [fate for fate, share in shares.items() if share > 0]

    def example(self, source, target, vocab_size, rng) -> Example:
        chosen = self.chosen(source, rng)
        return Example(
            self.corrupt(source, chosen, vocab_size, rng),
            None,
            np.where(chosen, source, IGNORE),
        )

    def chosen(self, source: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Which tokens are to be predicted; never </s> or padding."""
        return (source != PAD) & (source != EOS) & (rng.random(source.shape) < self.choose)

    def corrupt(
        self,
        source: np.ndarray,
        chosen: np.ndarray,
        vocab_size: int,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """`source` with each chosen token masked, replaced by a uniformly drawn one, or kept."""
        fate = rng.random(source.shape)
        masked = chosen & (fate < self.mask)
        replaced = chosen & (fate >= self.mask) & (fate < self.mask + self.replace)
        drawn = rng.integers(N_SPECIAL, vocab_size, source.shape)
        return np.where(masked, MASK, np.where(replaced, drawn, source))
