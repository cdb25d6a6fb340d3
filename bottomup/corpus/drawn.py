"""Text drawn from a hidden Markov model, so that all probabilities are known.

Each hidden state depends on the state before it, and emits one word. The first state has the
stationary distribution, so a position alone tells nothing of its state. All lengths are equally
probable. The translation replaces each word by one of a smaller vocabulary, always by the same.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
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


@dataclass(frozen=True)
class Language:
    """A hidden Markov model, and a translation of its words.

    transition: probabilities of the next state, by state, `[states, states]`. emission:
    probabilities of the word, by state, `[states, words]`. recoding: the translation of each word,
    `[words]`. lengths: the fewest and most words of a sentence.
    """

    transition: np.ndarray
    emission: np.ndarray
    recoding: np.ndarray
    lengths: tuple[int, int]

    @cached_property
    def start(self) -> np.ndarray:
        """The stationary distribution of states, `[states]`: that of the first word, and of any
        other whose sentence is not known."""
        n = len(self.transition)
        # start @ transition = start, and they add up to 1.
        equations = np.vstack([self.transition.T - np.eye(n), np.ones(n)])
        start = np.linalg.lstsq(equations, np.eye(n + 1)[n], rcond=None)[0].clip(0)
        return start / start.sum()

    @property
    def words(self) -> np.ndarray:
        """The distribution of words at any position, if the sentence is not known: `[words]`."""
        return self.start @ self.emission


class Options(SourceOptions):
    """Words, and how much is drawn; the sentences are in no language of people."""

    monolingual: ClassVar[bool] = True

    words: int = Field(50, ge=2, le=MOST, description="different words")
    recoded: int = Field(
        10, ge=2, le=MOST, description="different words of the translation; at most `words`"
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

    @abstractmethod
    def probabilities(self, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The transition and the emission of the language."""

    @property
    def language(self) -> Language:
        """The language that the options describe."""
        transition, emission = self.probabilities(generator(self.seed, "language"))
        recoding = np.arange(self.words) % self.recoded
        return Language(transition, emission, recoding, (self.shortest, self.longest))


def draw(options: Options) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The states and words of all sentences, `[sentences, longest]`, and their lengths. Ignore what
    is beyond a sentence's length."""
    of, random = options.language, generator(options.seed, "text")
    n = options.sentences
    lengths = random.integers(options.shortest, options.longest, n, endpoint=True)
    states, words = np.empty((2, n, options.longest), dtype=np.int32)
    following = np.vstack([of.transition, of.start])  # the last row is what begins a sentence
    before = np.full(n, len(of.transition))
    for place in range(options.longest):
        states[:, place] = before = _drawn(following, before, random)
        words[:, place] = _drawn(of.emission, states[:, place], random)
    return states, words, lengths


def _drawn(probabilities: np.ndarray, rows: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A column of `probabilities` for each of `rows`, drawn by that row of it, `[n]`."""
    sums = probabilities.cumsum(axis=1)
    drawn = random.random(len(rows)) * sums[rows, -1]
    columns = np.empty(len(rows), dtype=np.int32)
    for row in np.unique(rows):
        some = rows == row
        columns[some] = np.searchsorted(sums[row], drawn[some])
    return columns


def pairs(options: Options) -> pd.DataFrame:
    """The sentences, as a source gives them; an element is the number of its sentence."""
    _, words, lengths = draw(options)
    sides = [forms(options.words), recoded_forms(options.recoded)[options.language.recoding]]
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
