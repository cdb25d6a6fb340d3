"""A task of the table, and what follows from its turns."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from math import inf, nan

import numpy as np


@dataclass(frozen=True)
class Work:
    """The least cost of a task at one size, for any contender.

    items: the number of items for a cost per item. flop: the floating-point operations of the
    cheapest known method, products and sums counted separately. bytes: the least to read from
    memory or write to it. dtype: that of the operations.
    """

    items: float
    flop: float = 0.0
    bytes: float = 0.0
    dtype: str = "float32"

    def seconds(self, ceilings: dict[str, float]) -> float:
        """The least time on a machine with these ceilings, see `ceilings.measured`."""
        return max(self.flop / ceilings[self.dtype], self.bytes / ceilings["copy"])

    @property
    def extent(self) -> float:
        """The quantity that exponents refer to: operations, else bytes, else items."""
        return self.flop or self.bytes or self.items


@dataclass(frozen=True)
class Contender:
    """One way to do a task.

    run: takes the numbers of a size; returns the CPU seconds of the work without setup, and the
    value that shows how well it was done. package: the contender is left out if this is not
    installed. most: the extent of work beyond which it is left out, for its time or memory.
    """

    run: Callable[..., tuple[float, float]]
    package: str | None = None
    most: float = inf

    def missing(self) -> bool:
        """Whether its package is not installed."""
        return self.package is not None and find_spec(self.package) is None


@dataclass(frozen=True)
class Task:
    """A kind of work at three sizes, by several contenders; the first is the project's.

    target: what the first should reach. item: what `Work.items` counts. value: what each contender
    returns besides its seconds. work: a function of the numbers of a size. sizes, small, largest:
    the numbers of each size, by name, as every contender and `work` take them; the largest runs
    once and only on request. told: as in `take_turns`.
    """

    target: str
    item: str
    value: str
    work: Callable[..., Work]
    contenders: dict[str, Contender]
    sizes: list[dict]
    small: list[dict]
    largest: tuple[dict, ...] = ()
    told: bool = False


def exponent(extents: list[float], seconds: list[float]) -> float:
    """p in seconds ~ extents^p, by least squares in logarithms; NaN for fewer than three sizes."""
    if len(set(extents)) < 3:
        return nan
    return float(np.polyfit(np.log(extents), np.log(seconds), 1)[0])
