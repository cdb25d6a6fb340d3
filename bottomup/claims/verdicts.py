"""From p-values on a claim to the word for it, alone or among the claims of one paper.

Every p-value is one-sided: its null hypothesis is that the word is wrong. A word is given at half
of `LEVEL`, so that the two directions together are at `LEVEL`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import false_discovery_control

from bottomup.claims.words import (
    ABSENT,
    CONTRADICTED,
    IN_PART,
    LEVEL,
    REPRODUCED,
    SMALLER,
    UNDECIDED,
)

Numbers = float | np.ndarray


@dataclass(frozen=True)
class Sure:
    """What is significant about a claim; the names are those of `PValues`."""

    holds: bool = False
    absent: bool = False
    contradicted: bool = False
    towards: bool = False
    smaller: bool = False

    @property
    def word(self) -> str:
        if self.holds:
            return REPRODUCED
        if not self.absent:
            return SMALLER if self.smaller else UNDECIDED
        if self.contradicted:
            return CONTRADICTED
        return IN_PART if self.towards else ABSENT

    def then(self, later: "Sure") -> "Sure":
        """What is sure after a later look: what was sure stands, and what was open may be added."""
        side = self if self.holds or self.absent else later
        moved = self if self.contradicted or self.towards else later
        smaller = self.smaller or later.smaller
        return Sure(side.holds, side.absent, moved.contradicted, moved.towards, smaller)


@dataclass(frozen=True)
class PValues:
    """One-sided p-values on a claim, each small if the data speak for its word; numbers, or arrays
    of simulated studies.

    holds: the sentence holds. absent: the statistic is on the other side, below minus the margin.
    contradicted: it is on the other side, and training moved it there. towards: training moves it
    towards the sentence; 1 without initial models. smaller: it is less than published; 1 if no size
    is published.
    """

    holds: Numbers
    absent: Numbers
    contradicted: Numbers
    towards: Numbers
    smaller: Numbers

    @property
    def side(self) -> Numbers:
        """The two-sided p-value that the statistic is above the margin or below minus the
        margin."""
        return np.minimum(1.0, 2 * np.minimum(self.holds, self.absent))

    def at_least(self, p: Numbers) -> "PValues":
        """The same p-values, but none below `p`."""
        return PValues(*(np.maximum(one, p) for one in vars(self).values()))

    @property
    def alone(self) -> str:
        """The word for the claim alone."""
        by = 2 * self.contradicted, 2 * self.towards, 2 * self.smaller
        return self.sure(self.side, *by).word

    def sure(self, side: Numbers, *others: Numbers) -> Sure:
        """What is significant by two-sided p-values, which may be corrected for other claims.

        side: as from `side`. others: those of `contradicted`, `towards` and `smaller`.
        """
        decided = bool(side <= LEVEL)
        holds = decided and bool(self.holds < self.absent)
        return Sure(holds, decided and not holds, *(bool(p <= LEVEL) for p in others))


def corrected(claims: Mapping[str, PValues], looks: int = 1) -> dict[str, Sure]:
    """What is sure of each claim of one family, at one of several looks.

    There are four kinds of decisions: that a claim is on either side, that it is contradicted, that
    training moves it towards the sentence, and that it is smaller than published. The false
    discovery rate of each kind is at most `LEVEL`, however the claims depend on each other
    (Benjamini and Yekutieli 2001). Each look has an equal share of the level.
    """
    each = [*claims.values()]
    kinds = [
        looks * _adjusted([one.side for one in each]),
        *(
            looks * _adjusted([2 * getattr(one, kind) for one in each])
            for kind in ("contradicted", "towards", "smaller")
        ),
    ]
    sure = (one.sure(*of) for one, *of in zip(each, *kinds, strict=True))
    return dict(zip(claims, sure, strict=True))


def surest(n_claims: int) -> float:
    """The level at which one of `n_claims` claims is decided whatever the others are."""
    return LEVEL / (n_claims * sum(1 / rank for rank in range(1, n_claims + 1)))


def _adjusted(p: Sequence[Numbers]) -> np.ndarray:
    capped = np.minimum(np.array(p), 1.0)
    return false_discovery_control(capped, method="by") if len(p) else capped
