"""Masked prediction of a token's first letter (Alajrami and Aletras 2022, arXiv 2203.10415)."""

import unicodedata
from dataclasses import replace
from string import ascii_lowercase

import numpy as np
from pydantic import Field, PrivateAttr

from bottomup.corpus.bpe import WORD_START
from bottomup.objectives import IGNORE, Example, mlm

PUNCTUATION, DIGIT, OTHER = 26, 27, 28  # after the letters


class OfTypes(mlm.Objective):
    """MLM that predicts a class of each hidden token; the token's type alone decides the class.

    As in the authors' code, every chosen token is read as <mask>.
    """

    accuracy = "class_accuracy"
    _classes: np.ndarray = PrivateAttr()  # of each type, `[vocab_size]`

    mask: float = Field(1.0, ge=0, le=1, description="share of these read as <mask>")
    replace: float = Field(0.0, ge=0, le=1, description="share of these read as any token")

    def example(self, source, target, vocab_size, rng) -> Example:
        read = super().example(source, target, vocab_size, rng)
        predicted = read.labels != IGNORE
        classes = self._classes[np.where(predicted, read.labels, 0)]
        return replace(read, labels=np.where(predicted, classes, IGNORE))


class Objective(OfTypes):
    """Predict the first letter of hidden tokens: a to z, punctuation, a digit, or anything else."""

    @property
    def n_classes(self) -> int:
        return OTHER + 1

    def learn_types(self, types: list[str]) -> None:
        self._classes = np.array([first(token.removeprefix(WORD_START)) for token in types])


def first(token: str) -> int:
    """The class of a token by its first character, 0 to 28."""
    character = token.lower()[:1]  # "İ" becomes an i and a dot
    if not character or character.isspace():
        return OTHER
    if character in ascii_lowercase:
        return ascii_lowercase.index(character)
    # Marks count as letters: scripts that write vowels as marks have sub-words that begin with one.
    other = unicodedata.category(character)[0] in "LMN"
    return DIGIT if character.isdigit() else OTHER if other else PUNCTUATION
