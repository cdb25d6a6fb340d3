"""First and second moments of two views, gathered in one pass."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from bottomup.core.errors import UserError
from bottomup.views.values import require_same_rows, shaped

# The rounding error of subtracted scatters in float64, as a share of the neuron's scatter before.
ROUNDING = 1e-13


class Moments:
    """Count, means and covariances of paired rows of two views, in float64.

    Blocks of rows come in through `update`, moments of other rows through `merge`, in any order
    and of any size: the result is that of one pass over all rows, to rounding (pairwise update
    of Chan, Golub and LeVeque 1979, "Updating formulae and a pairwise algorithm for computing
    sample variances", which loses no digits to a large mean). No row is kept: memory is
    `(d_x + d_y)^2` numbers and a block.

    Parameters
    ----------
    d_x, d_y : int
        Widths of the two views.
    device : torch.device or str, default="cpu"
        Where sums are kept. It needs float64, which MPS has not.

    Attributes
    ----------
    n : int
        Rows seen so far.
    mean_x, mean_y : ndarray of shape (d_x,) and (d_y,)
        Means of the views.
    xx, xy, yy : ndarray of shape (d_x, d_x), (d_x, d_y) and (d_y, d_y)
        Covariances of x, of x with y, and of y, divided by `n`.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.array([[1.0], [2.0], [3.0]]), np.array([[2.0], [4.0], [6.0]])
    >>> whole, first, rest = Moments(1, 1), Moments(1, 1), Moments(1, 1)
    >>> whole.update(x, y)
    >>> first.update(x[:1], y[:1])
    >>> rest.update(x[1:], y[1:])
    >>> first.merge(rest)
    >>> whole.n == first.n == 3 and np.allclose(whole.xy, first.xy)
    True
    >>> round(float(whole.xy[0, 0]), 4)  # divided by n, not by n - 1
    1.3333
    """

    def __init__(self, d_x: int, d_y: int, device: torch.device | str = "cpu"):
        d = d_x + d_y
        self.d_x = d_x
        self.d_y = d_y
        self.n = 0
        # x and y side by side, so that all three covariances come from one pass.
        self.mean = torch.zeros(d, dtype=torch.float64, device=device)
        self.scatter = torch.zeros(d, d, dtype=torch.float64, device=device)

    def update(self, x: ArrayLike | Tensor, y: ArrayLike | Tensor) -> None:
        """Add rows.

        Parameters
        ----------
        x : array or Tensor of shape (n, d_x)
            Rows of one view.
        y : array or Tensor of shape (n, d_y)
            Rows of the other; row i belongs to row i of `x`.

        Raises
        ------
        UserError
            If the numbers of rows differ, a width is not that of these moments, or a view is no
            matrix of real numbers.
        """
        x, y = shaped(x), shaped(y)
        _check(x, y, self)
        rows = torch.cat([self._float64(x), self._float64(y)], dim=1)  # [n, d_x + d_y]
        if len(rows):
            mean = rows.mean(0)
            rows -= mean
            self._add(len(rows), mean, _gram(rows))

    def merge(self, other: "Moments") -> None:
        """Add the rows that others have seen.

        Parameters
        ----------
        other : Moments
            Of views of the same widths.

        Raises
        ------
        UserError
            If a width is another.
        """
        _require_widths((other.d_x, other.d_y), self)
        if other.n:
            self._add(other.n, other.mean.to(self.mean), other.scatter.to(self.scatter))

    def without(self, part: "Moments") -> "Moments":
        """The moments of the rows that are left when some are removed: `merge` undone, to rounding.

        If a neuron's variance falls by n digits, n digits of the result are lost. If none are left,
        the neuron counts as constant.

        Parameters
        ----------
        part : Moments
            Of some of these rows, but not of all.

        Returns
        -------
        Moments
            New ones, on the same device.
        """
        left = Moments(self.d_x, self.d_y, self.mean.device)
        left.n = self.n - part.n
        step = part.mean - self.mean
        share = part.n / left.n
        left.mean = self.mean - step * share
        left.scatter = self.scatter - part.scatter
        left.scatter -= torch.outer(step, step * (share * self.n))
        without_rounding(left.scatter, self.scatter)
        return left

    def swapped(self) -> "Moments":
        """The moments of (y, x).

        Returns
        -------
        Moments
            New ones, on the same device.
        """
        swapped = Moments(self.d_y, self.d_x, self.mean.device)
        swapped.n = self.n
        swapped.mean = self.mean.roll(self.d_y)
        swapped.scatter = self.scatter.roll((self.d_y, self.d_y), (0, 1))
        return swapped

    def crossed(self, xy: np.ndarray) -> "Moments":
        """These moments with another cross-covariance, such as that of permuted rows.

        Parameters
        ----------
        xy : ndarray of shape (d_x, d_y)
            The cross-covariance, divided by `n`.

        Returns
        -------
        Moments
            New ones, on the same device.
        """
        crossed = Moments(self.d_x, self.d_y, self.mean.device)
        crossed.n, crossed.mean, crossed.scatter = self.n, self.mean, self.scatter.clone()
        scatter = torch.from_numpy(xy).to(self.scatter) * self.n
        crossed.scatter[: self.d_x, self.d_x :] = scatter
        crossed.scatter[self.d_x :, : self.d_x] = scatter.T
        return crossed

    @property
    def mean_x(self) -> np.ndarray:
        """The mean of x: `[d_x]`."""
        return self.mean[: self.d_x].cpu().numpy()

    @property
    def mean_y(self) -> np.ndarray:
        """The mean of y: `[d_y]`."""
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
        if not isinstance(block, Tensor):
            block = torch.from_numpy(np.array(block, dtype=np.float64))
        return block.detach().to(self.mean)

    def _add(self, n: int, mean: Tensor, scatter: Tensor) -> None:
        total = self.n + n
        step = mean - self.mean
        self.scatter += scatter + torch.outer(step, step) * (self.n * n / total)
        self.mean += step * (n / total)
        self.n = total


def merged(parts: Sequence[Moments]) -> Moments:
    """The moments of the rows of all `parts`, of which there is at least one."""
    total = Moments(parts[0].d_x, parts[0].d_y, parts[0].mean.device)
    for part in parts:
        total.merge(part)
    return total


def without_rounding(left: Tensor, whole: Tensor) -> None:
    """Set the scatter `left` of a neuron to 0 if it is only the rounding of `whole`.

    Both `[d, d]`; `left` is changed.
    """
    constant = left.diagonal() <= ROUNDING * whole.diagonal()
    left[constant] = 0
    left[:, constant] = 0


def _gram(rows: Tensor) -> Tensor:
    """`rows.T @ rows`."""
    if rows.device.type != "cpu":
        return rows.T @ rows
    # NumPy sees that the product is symmetric and computes half of it, which PyTorch does not.
    columns = rows.numpy()
    with np.errstate(invalid="ignore"):  # distances raise an error for NaN
        return torch.from_numpy(columns.T @ columns)


def _check(x, y, moments: Moments) -> None:
    require_same_rows(x, y)
    _require_widths((x.shape[1], y.shape[1]), moments)


def _require_widths(widths: tuple[int, int], moments: Moments) -> None:
    if widths != (moments.d_x, moments.d_y):
        raise UserError(
            f"views of width {widths[0]} and {widths[1]} given to moments of width "
            f"{moments.d_x} and {moments.d_y}; allowed: these widths only"
        )
