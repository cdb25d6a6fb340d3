"""Values with 95 % intervals, and how intervals combine."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A value and its 95 % interval; NaN where there is none, and then in all that follows."""

    value: float
    low: float
    high: float

    def __add__(self, other: "Estimate") -> "Estimate":
        """The sum; half-widths add in quadrature."""
        return self - (-other)

    def __sub__(self, other: "Estimate") -> "Estimate":
        """The difference; half-widths add in quadrature."""
        value = self.value - other.value
        below = math.hypot(self.value - self.low, other.high - other.value)
        above = math.hypot(self.high - self.value, other.value - other.low)
        return Estimate(value, value - below, value + above)

    def __neg__(self) -> "Estimate":
        return Estimate(-self.value, -self.high, -self.low)

    def half(self) -> "Estimate":
        return Estimate(self.value / 2, self.low / 2, self.high / 2)

    def log(self) -> "Estimate":
        """The natural logarithm; half-widths become relative, as they do where they are small."""
        if not self.value > 0:
            return Estimate(math.nan, math.nan, math.nan)
        value = math.log(self.value)
        below, above = self.value - self.low, self.high - self.value
        return Estimate(value, value - below / self.value, value + above / self.value)


def mean(parts: Sequence[Estimate]) -> Estimate:
    """The mean, with the mean half-width: layers and groups are seen in the same sentences, so
    their errors may go together and need not average out."""
    return Estimate(*np.mean([(part.value, part.low, part.high) for part in parts], axis=0))


def weakest(parts: Sequence[Estimate]) -> Estimate:
    """For "all of these": the least value, the least low end, the least high end.

    Above a margin when every part is, below one as soon as a single part is.
    """
    return Estimate(*np.min([(part.value, part.low, part.high) for part in parts], axis=0))


def given(condition: Estimate, then: Estimate) -> Estimate:
    """`then`, for "where `condition` is positive": it holds no more, and fails no more, than the
    data say that the condition does."""
    low, high = np.minimum(then.low, condition.low), np.maximum(then.high, -condition.low)
    return Estimate(then.value, low, high)


def over_seeds(parts: Sequence[Estimate]) -> Estimate:
    """The mean of the seeds, in the interval that spans all of theirs: a verdict that follows
    from it holds for every seed."""
    mean_value = mean(parts).value
    low, high = np.min([part.low for part in parts]), np.max([part.high for part in parts])
    return Estimate(mean_value, low, high)
