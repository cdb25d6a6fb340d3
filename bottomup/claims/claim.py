"""What a claim is: one checkable sentence, and what has to be seen for it to hold."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bottomup.claims.tables import Tables

# An effect of less than this share of the published one counts as none.
MARGIN = 0.05

# Of these tables the config says, too, how much of the held-out text they read.
TEXT_OF = {
    "mutual_information": "held-out text and occurrences.n",
    "change": "held-out text and measures.change.occurrences",
    "influence": "held-out text and measures.influence.sentences",
    "neighbours": "held-out text and both occurrences of measures.neighbours",
    "head_importance": "dev text and heads.sentences",
}

Parts = list[np.ndarray]  # what must be above the margin, each with its draws


@dataclass(frozen=True)
class Claim:
    """One checkable sentence of a paper.

    measure: the table that it rests on. `parts` computes from the tables of one seed what has to be
    above `margin` for the sentence to hold: all of it, or with `one_of` one; each with its draws
    (see `tables`). It raises `NotMeasuredError`. With `across_seeds` it reads those of all seeds.
    `of_training`: the sentence says what training does, so that the initial models must not show
    it as well. `where`: a condition of the sentence, whose parts must be above the margin, too.
    `published` is the statistic on the published curves. `curves` are those that the claim is
    about, each named by what tells it from others: its figure, panel or series, or several of
    these.
    """

    name: str
    paper: str
    measure: str
    statement: str
    section: str
    statistic: str
    parts: Callable[[Tables], Parts]
    published: float
    contradicted_if: str
    undecided_until: str
    one_of: bool = False
    across_seeds: bool = False
    of_training: bool = True
    where: Callable[[Tables], Parts] | None = None
    curves: tuple[tuple[str, ...], ...] = ()

    @property
    def margin(self) -> float:
        return MARGIN * self.published

    @property
    def text(self) -> str:
        """What there has to be more of where runs do not narrow the interval."""
        return TEXT_OF.get(self.measure, "held-out text")


def collect(claims: list[Claim], paper: str) -> Callable:
    """A decorator: the claim whose name and `parts` are a function's, added to `claims`."""

    def claim(**data) -> Callable:
        def add(parts: Callable[[Tables], Parts]) -> Callable[[Tables], Parts]:
            claims.append(Claim(name=parts.__name__, paper=paper, parts=parts, **data))
            return parts

        return add

    return claim
