"""What a claim is: one checkable sentence, and what must be seen for it to hold."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bottomup.claims.tables import Tables
from bottomup.claims.words import SIZES
from bottomup.measures.jackknife import ANY, Range

# An effect of less than this share of the published one counts as none.
MARGIN = 0.05

# The range of a correlation and of a difference of two shares; and that of a share less a half.
BETWEEN_SHARES, LESS_A_HALF = Range(-1, 1), Range(-0.5, 0.5)

Parts = list[np.ndarray]  # the values that must be above the margin, each with its draws


@dataclass(frozen=True)
class Claim:
    """One checkable sentence of a paper.

    measure: the table that it rests on.
    parts: computes, from the tables of one seed, the values that must be above `margin` for the
        sentence to hold, each with its draws (see `tables`); raises `NotMeasuredError`. Where the
        sentence can be asked of other objectives, `objective` names one.
    one_of: whether one part above the margin is enough; otherwise all must be.
    across_seeds: whether `parts` reads the tables of all seeds.
    of_training: whether the sentence says what training does; then the initial models must not
        show it as well.
    where: a condition of the sentence; its parts must be above the margin, too.
    where_size: a size for a condition that is in another unit than the statistic, or rests on
        another table. The margin of the condition is then a share of this size, and the prior of
        the statistic does not apply to it. None if it is in the unit of the statistic.
    published: the statistic on the published curves, or what stands in for it.
    published_as: what it is, one of `PUBLISHED_AS`.
    differs: where the statistic is narrower or wider than the sentence; empty where it is neither.
    within: the range of the statistic, where its interval ends.
    curves: the curves that the claim is about, each named by what tells it from others: its figure,
        panel or series, or several of these.
    """

    name: str
    paper: str
    measure: str
    statement: str
    section: str
    statistic: str
    parts: Callable[..., Parts]
    published: float
    contradicted_if: str
    undecided_until: str
    published_as: str = ""
    differs: str = ""
    one_of: bool = False
    across_seeds: bool = False
    of_training: bool = True
    where: Callable[[Tables], Parts] | None = None
    where_size: float | None = None
    within: Range = ANY
    curves: tuple[tuple[str, ...], ...] = ()

    @property
    def extreme(self) -> Callable:
        """The statistic, from its parts."""
        return np.max if self.one_of else np.min

    @property
    def margin(self) -> float:
        return MARGIN * self.published

    @property
    def margin_of_condition(self) -> float:
        return self.margin if self.where_size is None else MARGIN * self.where_size

    @property
    def has_published_size(self) -> bool:
        """Whether the published value is of this statistic, so that ours may be smaller."""
        return self.published_as in SIZES


def collect(claims: list[Claim], **of_all: str) -> Callable:
    """A decorator that adds a claim to `claims`; the function gives its name and `parts`.

    of_all: what its claims have in common, unless one says otherwise.
    """

    def claim(**data) -> Callable:
        def add(parts: Callable[[Tables], Parts]) -> Callable[[Tables], Parts]:
            claims.append(Claim(name=parts.__name__, parts=parts, **of_all | data))
            return parts

        return add

    return claim
