"""The shape of a task of the table, and what follows from its turns."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from math import inf, nan

import numpy as np


@dataclass(frozen=True)
class Work:
    """What a task must cost at a size, whoever does it.

    items: what there is many of, and a cost of each is told; flop: floating-point operations of
    the least that computes it, products and sums counted apart; bytes: read from memory or written
    to it at least; dtype: of the operations.
    """

    items: float
    flop: float = 0.0
    bytes: float = 0.0
    dtype: str = "float32"

    def seconds(self, ceilings: dict[str, float]) -> float:
        """The least that it can take on a machine with these ceilings, see `ceilings.measured`."""
        return max(self.flop / ceilings[self.dtype], self.bytes / ceilings["copy"])

    @property
    def extent(self) -> float:
        """What an exponent is of: operations, else bytes, else items."""
        return self.flop or self.bytes or self.items


@dataclass(frozen=True)
class Contender:
    """One way to do a task.

    run: from a size's numbers to the seconds of CPU that the work took, setting up left out, and
    the value that shows how well it was done; package: left out where this is not installed; most:
    the extent of work beyond which it is left out, for its time or memory.
    """

    run: Callable[..., tuple[float, float]]
    package: str | None = None
    most: float = inf

    def missing(self) -> bool:
        """Whether its package is not installed."""
        return self.package is not None and find_spec(self.package) is None


@dataclass(frozen=True)
class Task:
    """A line of work, at three sizes, by several contenders, the first of which is the project's.

    target: what is asked of the first; item: what `Work.items` counts; value: what each contender
    returns beside its seconds; work: of a size's numbers; sizes, small, largest: numbers of each
    size, by name, as every contender and `work` take them, the last run once and only if asked for;
    told: as `take_turns` has it.
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
    """p of seconds ~ extents^p by least squares in logarithms; NaN for fewer than three sizes."""
    if len(set(extents)) < 3:
        return nan
    return float(np.polyfit(np.log(extents), np.log(seconds), 1)[0])
