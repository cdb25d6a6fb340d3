"""Affine maps by least squares, and how many rows they need."""

from typing import NamedTuple

import numpy as np
import torch
from scipy.linalg import pinvh
from torch import Tensor

from bottomup.views.moments import Moments
from bottomup.views.values import deviations

# A share of the largest variance of a direction, for neurons of unit variance. A direction that
# varies less does so by the rounding of float32, which differs from device to device.
ROUNDING = 1e-10
# With so many rows for each neuron that a map reads, its error on other rows is a tenth larger than
# that of the best map.
ROWS_FOR_A_NEURON = 10


class Map(NamedTuple):
    """`x -> x @ weight + bias`: `[d_x, d_y]`, `[d_y]`; fitted on `n` rows."""

    weight: Tensor
    bias: Tensor
    n: int

    def of(self, x: Tensor) -> Tensor:
        return x @ self.weight.to(x) + self.bias.to(x)

    def size(self, n: int) -> dict:
        """See `rows_and_needed`."""
        return rows_and_needed(n, self.n, len(self.weight))


def least_squares(moments: Moments) -> Map:
    """The affine map from x to y with the least squared error.

    Several maps have it if x does not vary along some direction, as after layer normalization. Then
    it is the one of least norm between neurons of unit variance, so that the scale of a neuron does
    not matter.
    """
    scale = deviations(moments.xx.diagonal(), moments.mean_x)  # infinite if constant
    inverse = pinvh(moments.xx / np.outer(scale, scale), rtol=ROUNDING) / np.outer(scale, scale)
    weight = inverse @ moments.xy
    bias = moments.mean_y - moments.mean_x @ weight
    return Map(torch.from_numpy(weight).float(), torch.from_numpy(bias).float(), moments.n)


def rows_and_needed(n: int, rows: int, neurons: int) -> dict:
    """The columns n and n_needed of a value over `n` cases, by a map of so many neurons that is
    fitted on `rows` rows.

    If the rows are too few for the map, n is their number, and the value must be NaN.
    """
    needed = ROWS_FOR_A_NEURON * neurons
    return {"n": n, "n_needed": 0} if rows >= needed else {"n": rows, "n_needed": needed}
