"""Sentences of a hidden Markov model, whose probabilities are known exactly: see
`bottomup.corpus.drawn`.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import Field

from bottomup.corpus import drawn


class Options(drawn.Options):
    """A language whose states and words follow any distributions."""

    states: int = Field(8, ge=2, le=1000, description="hidden states")
    concentration: float = Field(
        0.3,
        ge=0.01,
        le=1000,
        description="of the Dirichlet distributions that make what follows a state, and its words: "
        "near 0, nearly always the same; large, all alike",
    )

    def probabilities(self, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        transition = random.dirichlet(np.full(self.states, self.concentration), self.states)
        return transition, random.dirichlet(np.full(self.words, self.concentration), self.states)


def fetch(options: Options, download_folder: Path) -> pd.DataFrame:
    """The sentences; an element is the number of its sentence."""
    return drawn.pairs(options)
