"""First and second moments of two views, gathered in one pass."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from bottomup.errors import UserError


class Moments:
    """Count, means and covariances of paired rows `x` `[n, d_x]` and `y` `[n, d_y]`, in float64.

    Blocks of rows come in through `update`, moments of other rows through `merge`, in any order
    and of any size: the result is that of one pass over all rows, to rounding (pairwise update
    of Chan, Golub and LeVeque 1979, "Updating formulae and a pairwise algorithm for computing
    sample variances", which loses no digits to a large mean). No row is kept: memory is
    `(d_x + d_y)^2` numbers and a block.
    """

    def __init__(self, d_x: int, d_y: int, device: torch.device | str = "cpu"):
        d = d_x + d_y
        self.d_x = d_x
        self.d_y = d_y
        self.n = 0
        # x and y side by side: one matrix product gives all three covariances.
        self.mean = torch.zeros(d, dtype=torch.float64, device=device)
        self.scatter = torch.zeros(d, d, dtype=torch.float64, device=device)

    def update(self, x: ArrayLike | Tensor, y: ArrayLike | Tensor) -> None:
        """Add the rows of `x` `[n, d_x]` and `y` `[n, d_y]`, row i of one belonging to row i of
        the other.

        Raises UserError if the numbers of rows or the widths do not fit.
        """
        _check(x, y, self)
        rows = torch.cat([self._float64(x), self._float64(y)], dim=1)  # [n, d_x + d_y]
        if len(rows):
            mean = rows.mean(0)
            rows -= mean
            self._add(len(rows), mean, rows.T @ rows)

    def merge(self, other: "Moments") -> None:
        """Add the rows that `other` has seen."""
        if other.n:
            self._add(other.n, other.mean.to(self.mean), other.scatter.to(self.scatter))

    def swapped(self) -> "Moments":
        """The moments of (y, x)."""
        swapped = Moments(self.d_y, self.d_x, self.mean.device)
        swapped.n = self.n
        swapped.mean = self.mean.roll(self.d_y)
        swapped.scatter = self.scatter.roll((self.d_y, self.d_y), (0, 1))
        return swapped

    @property
    def mean_x(self) -> np.ndarray:
        """`[d_x]`"""
        return self.mean[: self.d_x].cpu().numpy()

    @property
    def mean_y(self) -> np.ndarray:
        """`[d_y]`"""
        return self.mean[self.d_x :].cpu().numpy()

    @property
    def xx(self) -> np.ndarray:
        """Covariance of x, divided by n: `[d_x, d_x]`."""
        return self._covariance(self.scatter[: self.d_x, : self.d_x])

    @property
    def xy(self) -> np.ndarray:
        """Cross-covariance, divided by n: `[d_x, d_y]`."""
        return self._covariance(self.scatter[: self.d_x, self.d_x :])

    @property
    def yy(self) -> np.ndarray:
        """Covariance of y, divided by n: `[d_y, d_y]`."""
        return self._covariance(self.scatter[self.d_x :, self.d_x :])

    def _covariance(self, scatter: Tensor) -> np.ndarray:
        return (scatter / self.n).cpu().numpy()

    def _float64(self, block: ArrayLike | Tensor) -> Tensor:
        # A memory map that is open for reading only must be copied before torch takes it.
        block = block if isinstance(block, Tensor) else torch.from_numpy(np.array(block))
        return block.to(self.mean)

    def _add(self, n: int, mean: Tensor, scatter: Tensor) -> None:
        total = self.n + n
        step = mean - self.mean
        self.scatter += scatter + torch.outer(step, step) * (self.n * n / total)
        self.mean += step * (n / total)
        self.n = total


def merged(blocks: Sequence[Moments], counts: np.ndarray) -> Moments:
    """The moments of all rows of the `blocks`, those of block i repeated `counts[i]` times.

    The same as as many merges, in one pass. At least one row must be left.
    """
    total = Moments(blocks[0].d_x, blocks[0].d_y, blocks[0].mean.device)
    sizes = [int(count) * block.n for count, block in zip(counts, blocks, strict=True)]
    total.n = sum(sizes)
    weights = torch.tensor(sizes).to(total.mean)  # [n_blocks]
    means = torch.stack([block.mean for block in blocks])  # [n_blocks, d_x + d_y]
    total.mean = weights @ means / total.n
    steps = means - total.mean
    total.scatter = (weights * steps.T) @ steps
    for count, block in zip(counts, blocks, strict=True):
        total.scatter.add_(block.scatter, alpha=int(count))
    return total


def _check(x, y, moments: Moments) -> None:
    if len(x) != len(y):
        raise UserError(
            f"two views of {len(x)} and {len(y)} occurrences; they must have the same rows; "
            f"extract both from one occurrence table"
        )
    if (x.shape[1], y.shape[1]) != (moments.d_x, moments.d_y):
        raise UserError(
            f"views of width {x.shape[1]} and {y.shape[1]} given to moments of width "
            f"{moments.d_x} and {moments.d_y}; allowed: these widths only"
        )
