"""Sentences of a hidden Markov model, so that all that can be known of a position is known exactly.

A hidden state follows the state before it, and makes one word. States start as they are after a
long time, so no position of a sentence tells of its state. All lengths are equally probable. The
translation puts one of fewer words in the place of each word, and keeps of it nothing else.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from bottomup.core.seeds import generator
from bottomup.core.settings import Seed
from bottomup.corpus.sources import SourceOptions

OF_A_DOCUMENT = 20  # sentences
SYLLABLES = [a + b for a in "bcdfghjklmnprstvwxz" for b in "aeiou"]
MOST = len(SYLLABLES) ** 2  # words


class Options(SourceOptions):
    """The language, and how much of it; its sentences are in no language of people."""

    monolingual: ClassVar[bool] = True

    states: int = Field(8, ge=2, le=1000, description="hidden states")
    words: int = Field(50, ge=2, le=MOST, description="different words")
    recoded: int = Field(
        10, ge=2, le=MOST, description="different words of the translation; at most `words`"
    )
    concentration: float = Field(
        0.3,
        ge=0.01,
        le=1000,
        description="of the Dirichlet distributions that make what follows a state, and its words: "
        "near 0, nearly always the same; large, all alike",
    )
    shortest: int = Field(8, ge=3, le=1000, description="fewest words of a sentence")
    longest: int = Field(16, ge=3, le=1000, description="most words of a sentence")
    sentences: int = Field(100_000, ge=100, le=10**7, description="sentences to draw")
    seed: Seed = Field(1, description="seed of the language and of its text")

    @model_validator(mode="after")
    def rising(self) -> "Options":
        if self.recoded > self.words or self.shortest > self.longest:
            raise ValueError("allowed: recoded <= words, and shortest <= longest")
        return self


@dataclass(frozen=True)
class Language:
    """A hidden Markov model, and a translation of its words.

    start: `[states]`, of the first state and of any other without its sentence; transition: from a
    row's state `[states, states]`; emission: of a row's state `[states, words]`; all probabilities.
    recoding: the word of the translation, `[words]`. lengths: the fewest and most words.
    """

    start: np.ndarray
    transition: np.ndarray
    emission: np.ndarray
    recoding: np.ndarray
    lengths: tuple[int, int]

    @property
    def words(self) -> np.ndarray:
        """How probable each word is, without its sentence: `[words]`."""
        return self.start @ self.emission


def language(options: Options) -> Language:
    """The language that the options describe."""
    random, n = generator(options.seed, "language"), options.states
    transition = random.dirichlet(np.full(n, options.concentration), n)
    emission = random.dirichlet(np.full(options.words, options.concentration), n)
    # start @ transition = start, and they add up to 1.
    equations = np.vstack([transition.T - np.eye(n), np.ones(n)])
    start = np.linalg.lstsq(equations, np.eye(n + 1)[n], rcond=None)[0].clip(0)
    recoding = np.arange(options.words) % options.recoded
    lengths = options.shortest, options.longest
    return Language(start / start.sum(), transition, emission, recoding, lengths)


def draw(options: Options) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The states and words of all sentences, `[sentences, longest]`, and their lengths; what is
    beyond a length counts for nothing."""
    of, random = language(options), generator(options.seed, "text")
    n = options.sentences
    lengths = random.integers(options.shortest, options.longest, n, endpoint=True)
    states, words = np.empty((2, n, options.longest), dtype=np.int32)
    for place in range(options.longest):
        before = of.transition[states[:, place - 1]] if place else np.tile(of.start, (n, 1))
        states[:, place] = _drawn(before, random)
        words[:, place] = _drawn(of.emission[states[:, place]], random)
    return states, words, lengths


def _drawn(probabilities: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A column for each row of probabilities."""
    sums = probabilities.cumsum(axis=1)
    return (sums < random.random((len(sums), 1)) * sums[:, -1:]).sum(axis=1)


def fetch(options: Options, download_folder: Path) -> pd.DataFrame:
    """The sentences; an element is the number of its sentence."""
    _, words, lengths = draw(options)
    sides = [forms(options.words), recoded_forms(options.recoded)[language(options).recoding]]
    texts = [
        [" ".join(side[some[:length]]) for some, length in zip(words, lengths, strict=True)]
        for side in sides[: len(options.languages)]
    ]
    numbers = [str(number) for number in range(len(words))]
    documents = [str(number // OF_A_DOCUMENT) for number in range(len(words))]
    rows = zip(documents, numbers, *texts, strict=True)
    return pd.DataFrame(rows, columns=options.columns, dtype=str)


def forms(n: int) -> np.ndarray:
    """How `n` words are written: two syllables each."""
    places = [divmod(number, len(SYLLABLES)) for number in range(n)]
    return np.array([SYLLABLES[first] + SYLLABLES[last] for first, last in places])


def recoded_forms(n: int) -> np.ndarray:
    """How `n` words of the translation are written; no word of the source is written so."""
    return np.array([form[::-1] for form in forms(n)])
