"""Sentences of a grammar whose pairs of words nest, and whose probabilities are known exactly.

Brackets of several kinds open and close in order, with other words between (a Dyck language of
bounded depth; Hewitt et al. 2020, arXiv 2010.07515). Since the depth is bounded, the grammar is a
hidden Markov model whose states are the brackets that are open: `bottomup.corpus.drawn`. A sentence
is a piece of an endless text, so brackets may be open at both of its ends.
"""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from bottomup.corpus import drawn

MOST_STATES = 1000


class Options(drawn.Options):
    """Kinds of brackets, and how deep they nest."""

    kinds: int = Field(2, ge=1, le=20, description="kinds of brackets")
    depth: int = Field(3, ge=1, le=8, description="brackets that may be open at once")
    between: float = Field(0.3, ge=0.01, le=0.99, description="share of words that are no bracket")

    @model_validator(mode="after")
    def not_too_large(self) -> "Options":
        if self.words < 2 * self.kinds + 1:
            raise ValueError("allowed: words at least 2 x kinds + 1, one for each opening, closing")
        stacks = sum(self.kinds**n for n in range(self.depth + 1))
        # A word between leads to any stack. For each stack but the empty one, one word opens its
        # last bracket, and one closes it.
        if (n_states := 3 * stacks - 2) > MOST_STATES:
            raise ValueError(
                f"found {n_states:,} states (what is open, and the last word's kind); "
                f"allowed: at most {MOST_STATES:,}; take fewer kinds or less depth"
            )
        return self

    @property
    def states(self) -> list[tuple[tuple[int, ...], int]]:
        """All states: the brackets that are open after a word, the outermost first, and the kind of
        the word: 0 for a word between; i opens, `kinds + i` closes a bracket of kind i, from 1."""
        kinds = range(1, self.kinds + 1)
        stacks = [open_ for n in range(self.depth + 1) for open_ in product(kinds, repeat=n)]
        return [
            (open_, kind)
            for open_ in stacks
            for kind in (
                0,
                *open_[-1:],
                *(self.kinds + closed for closed in kinds if len(open_) < self.depth),
            )
        ]

    def following(self, open_: tuple[int, ...]) -> dict[tuple[tuple[int, ...], int], float]:
        """The probability of each next state if these brackets are open.

        Where one bracket may open and another close, both are equally probable. So are all kinds
        that may open.
        """
        ways = (len(open_) < self.depth) + bool(open_)
        share = (1 - self.between) / ways
        probabilities = {(open_, 0): self.between}
        if open_:
            probabilities[open_[:-1], self.kinds + open_[-1]] = share
        if len(open_) < self.depth:
            kinds = range(1, self.kinds + 1)
            probabilities |= {((*open_, kind), kind): share / self.kinds for kind in kinds}
        return probabilities

    def probabilities(self, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        places = {state: place for place, state in enumerate(self.states)}
        transition = np.zeros((len(places), len(places)))
        for (open_, _), place in places.items():
            for state, probability in self.following(open_).items():
                transition[place, places[state]] = probability
        n = 2 * self.kinds + 1
        emission = np.zeros((n, self.words))  # by the kind of word
        for kind, some in enumerate(np.array_split(random.permutation(self.words), n)):
            emission[kind, some] = random.dirichlet(np.ones(len(some)))
        return transition, emission[[kind for _, kind in places]]


def fetch(options: Options, download_folder: Path) -> pd.DataFrame:
    """The sentences; an element is the number of its sentence."""
    return drawn.pairs(options)
