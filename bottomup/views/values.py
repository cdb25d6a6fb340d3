"""The numbers of a view `[n, d]`: whether they can be measured, and at which scale.

Neurons of one layer may differ a thousandfold in size, and layers too. So every limit is relative
to the neuron, or to the view, that it is about.
"""

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from bottomup.core.errors import UserError

# A variance of at most this share of the squared mean is a constant's rounding error in float64.
CONSTANT = 1e-24
# Squares of squares must have room in float64, so this is the most that a number or a variance may
# be, and a neuron that varies by less than `LEAST` is constant. All float32 lies between.
LARGEST, LEAST = 1e100, 1e-50
# Rows to convert to float64 at once.
BLOCK_ROWS = 8192


class UndefinedError(UserError):
    """What a measure asks these views for is not in them, as where a view is the same everywhere:
    a table has no value there."""


def checked(view: ArrayLike | Tensor, measure: str, **columns: ArrayLike) -> np.ndarray:
    """The view as an array, if it can be measured; a memory map stays one.

    measure: what needs the view, for errors. columns: further values, one for each row.

    Raises UserError unless the view is a matrix of finite real numbers with at least one row, none
    beyond `LARGEST`, not all below `LEAST` but for 0, and each column has one value for each row.
    """
    rows = as_array(view)
    for name, column in columns.items():
        if np.shape(column) != (len(rows),):
            raise UserError(
                f"{name} of shape {np.shape(column)} for a view of {len(rows)} occurrences; "
                f"allowed: one value for each, ({len(rows)},)"
            )
    if not len(rows):
        raise UserError(f"a view of 0 occurrences; {measure} needs some; raise occurrences.n")
    largest = max(require_finite(block, measure) for block in blocks_of(rows))
    if 0 < largest < LEAST:
        raise UserError(
            f"the largest number of a view is {largest:g}; {measure} needs one of at least "
            f"{LEAST:g}; multiply the view by a power of 2"
        )
    return rows


def as_array(view: ArrayLike | Tensor) -> np.ndarray:
    """As `shaped`, but as an array if it is a tensor, such as the states of a subject."""
    rows = shaped(view)
    if not isinstance(rows, Tensor):
        return rows
    rows = rows.detach().cpu()
    return (rows.float() if rows.dtype == torch.bfloat16 else rows).numpy()


@overload
def shaped(view: Tensor) -> Tensor: ...
@overload
def shaped(view: ArrayLike) -> np.ndarray: ...
def shaped(view: ArrayLike | Tensor) -> np.ndarray | Tensor:
    """The view as an array, or the tensor that it is; UserError unless it is a matrix of real
    numbers, one row for each occurrence."""
    rows = view if isinstance(view, Tensor) else np.asarray(view)
    shape = tuple(rows.shape)
    if len(shape) != 2 or not shape[1]:
        raise UserError(f"a view of shape {shape}; allowed: [occurrences, d], d at least 1")
    real = not rows.is_complex() if isinstance(rows, Tensor) else rows.dtype.kind in "biuf"
    if not real:
        raise UserError(f"a view of type {rows.dtype}; allowed: real numbers; usual: float32")
    return rows


def require_same_rows(x: np.ndarray | Tensor, y: np.ndarray | Tensor) -> None:
    """Raise UserError if two views cannot be of the same occurrences."""
    if len(x) != len(y):
        raise UserError(
            f"two views of {len(x)} and {len(y)} occurrences; they must have the same rows; "
            f"extract both from one occurrence table"
        )


def require_finite(numbers: np.ndarray, measure: str) -> float:
    """How large the largest number is; UserError for NaN, infinity and what is beyond `LARGEST`."""
    ends = numbers.max(initial=0), numbers.min(initial=0)
    largest = max(abs(float(end)) for end in ends)
    if not largest <= LARGEST:
        raise UserError(
            f"a view holds NaN or infinity, or numbers too large to square; {measure} needs finite "
            "numbers; look for a diverged run, or set views.dtype to float32"
        )
    return largest


def blocks_of(rows: np.ndarray) -> Iterator[np.ndarray]:
    """The rows, `BLOCK_ROWS` at a time."""
    for start in range(0, len(rows), BLOCK_ROWS):
        yield rows[start : start + BLOCK_ROWS]


def deviations(variance: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """The standard deviation of each neuron, `[d]`; infinity for a constant neuron, so that the
    neuron divided by it is 0. It is constant to rounding, or to `LEAST`."""
    varies = variance > np.maximum(CONSTANT * np.square(mean), LEAST**2)
    return np.sqrt(np.where(varies, variance, np.inf))


def varying_deviations(variance: np.ndarray, mean: np.ndarray, measure: str) -> np.ndarray:
    """As `deviations`; UserError if they are not finite, `UndefinedError` if no neuron varies."""
    require_finite(variance, measure)
    deviation = deviations(variance, mean)
    if np.isinf(deviation).all():
        raise UndefinedError(
            f"a view is the same at all occurrences (to {LEAST:g}); {measure} needs one that "
            "varies; look for a run or layer that collapsed"
        )
    return deviation


def mean_and_deviation(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and standard deviation (with n - 1) of each neuron, float64 `[d]`; see
    `deviations`."""
    n = len(rows)
    mean = sum(block.sum(0, dtype=np.float64) for block in blocks_of(rows)) / n
    squares = sum(np.square(block - mean).sum(0) for block in blocks_of(rows))
    return mean, deviations(squares / max(n - 1, 1), mean)


def standardized(view: np.ndarray, of: np.ndarray | slice = slice(None)) -> np.ndarray:
    """The view with neurons of mean 0 and standard deviation 1 over the rows `of`: float32.

    Shifting or scaling a neuron changes only the rounding of the result. A neuron that is constant
    over the rows `of` is 0 everywhere.
    """
    mean, deviation = mean_and_deviation(view[of])
    standard = np.empty(view.shape, dtype=np.float32)
    for block, rows in zip(blocks_of(standard), blocks_of(view), strict=True):
        with np.errstate(over="ignore"):  # infinity, if `of` hardly varies and other rows do
            block[:] = (rows - mean) / deviation
    return standard


def all_standardized(
    views: np.ndarray | Sequence[np.ndarray], of: np.ndarray | slice = slice(None)
) -> np.ndarray:
    """`standardized` of each of some views of one shape: `[views, n, d]`. Beside the result, memory
    holds one of them."""
    standard = np.empty((len(views), *views[0].shape), dtype=np.float32)
    for rows, view in zip(standard, views, strict=True):
        rows[:] = standardized(view, of)
    return standard


def in_float32(view: np.ndarray) -> np.ndarray:
    """The view in float32, scaled by a power of two, with the same ratios of distances.

    The largest number is then of order 1, so that no square of a distance is too large or too
    small. Numbers of more digits than float32 are centered before they are rounded, since a large
    mean would cost digits.
    """
    exact = np.can_cast(view.dtype, np.float32)
    rows = view.astype(np.float32 if exact else np.float64)
    rows = np.ldexp(rows, -np.frexp(np.abs(rows).max())[1])
    return rows if exact else (rows - rows.mean(0)).astype(np.float32)
