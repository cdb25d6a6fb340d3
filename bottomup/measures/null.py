"""What two views share by chance: any measure of them, with the rows of one permuted.

The null of Gröger, Wen and Brbić 2026 (arXiv 2602.14486): permuted rows have the numbers of rows
and neurons and the covariances of the real ones, and nothing in common but by chance. The same
permutations serve all layers and measures, so the most alike of all layers has a null, too.

What differs from their code: the permutations are not drawn one by one. Rows are dealt at random
into lines of 2^m, and permutation k swaps places a and a XOR k of every line. These are a group,
and under a random group the p-value is as exact as under random permutations (Koning and Hemerik
2024, "More efficient exact group-invariance testing: using a representative subgroup"). And the
sums of products x_i y_j' under all of them cost no more than under one: a Hadamard transform along
the lines turns them into 2^m matrix products, each over one row of every line. The few rows that
fill no line are permuted at random among themselves.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.linalg import hadamard

from bottomup.core.errors import UserError
from bottomup.core.seeds import generator
from bottomup.core.settings import Null

# The entry of a row of a table that `calibrated` replaces by `COLUMNS`.
PERMUTED = "permuted"
COLUMNS = ("null", "calibrated", "p", "p_layers")
LEVEL = 0.05
# Values this close, as a share of how far they are from those of equal views, are the same.
ROUNDING = 1e-12
# Rows in float64 at once.
BLOCK_ROWS = 8192


@dataclass(frozen=True)
class Permuted:
    """A value, the same with permuted rows `[count]`, and what it is for equal views: the end of
    what is possible."""

    value: float
    values: np.ndarray
    same: float

    @property
    def apart(self) -> np.ndarray:
        """How far each value is from that of equal views, the value itself first: `[1 + count]`."""
        return np.abs(np.concatenate([[self.value], self.values]) - self.same)


class Permutations:
    """Permutations of rows. The same count and the same number of rows give the same ones.

    Parameters
    ----------
    count : int
        How many: 2^m - 1, which are a group together with the identity.
    seed : int
        Seed of the draw of lines.
    """

    def __init__(self, count: int, seed: int):
        if count < 1 or count & (count + 1):
            raise UserError(f"{count} permutations; allowed: one less than a power of 2; usual: 63")
        self.count, self.seed = count, seed

    def of(self, n: int) -> Iterator[np.ndarray]:
        """Each permutation of `n` rows: for each place the number of the row that comes there."""
        lines, rest = self._dealt(n)
        for number, order in enumerate(self._of_rest(len(rest)), start=1):
            rows = np.empty(n, dtype=np.int64)
            rows[lines] = lines[:, np.arange(self.count + 1) ^ number]
            rows[rest] = rest[order]
            yield rows

    def covariances(
        self,
        x: Callable[[np.ndarray], np.ndarray],
        y: Callable[[np.ndarray], np.ndarray],
        n: int,
    ) -> np.ndarray:
        """The covariances of x with permuted y: `[count, d_x, d_y]`, divided by `n`.

        x, y: the rows of a view, less its mean, from their numbers: `[some, d_x]`, `[some, d_y]`.
        """
        lines, rest = self._dealt(n)
        size, at_once = self.count + 1, max(1, BLOCK_ROWS // (self.count + 1))
        signs = torch.from_numpy(hadamard(size).astype(np.float64))
        a, b = (torch.from_numpy(view(rest)).double() for view in (x, y))
        total = torch.zeros(size, a.shape[1], b.shape[1], dtype=torch.float64)
        for start in range(0, len(lines), at_once):
            rows = lines[start : start + at_once].T  # [size, some]
            left, right = (_transformed(view(rows.ravel()), signs) for view in (x, y))
            total.baddbmm_(left.transpose(1, 2), right)
        for line in range(total.shape[1]):
            total[:, line] = signs @ total[:, line] / size
        for number, order in enumerate(self._of_rest(len(rest)), start=1):
            total[number] += a.T @ b[torch.from_numpy(order)]
        return total[1:].div_(n).numpy()

    def _dealt(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Row numbers in lines, `[n // (count + 1), count + 1]`, and the rest."""
        order = generator(self.seed, "null", "lines").permutation(n)
        lines, rest = np.split(order, [n - n % (self.count + 1)])
        return lines.reshape(-1, self.count + 1), rest

    def _of_rest(self, n: int) -> Iterator[np.ndarray]:
        draw = generator(self.seed, "null", "rest")
        return (draw.permutation(n) for _ in range(self.count))


def permutations(settings: Null | None) -> Permutations | None:
    """The permutations that the config asks for, if any."""
    return Permutations(settings.permutations, settings.seed) if settings else None


def _transformed(rows: np.ndarray, signs: torch.Tensor) -> torch.Tensor:
    """Rows `[size * some, d]`, place by place, transformed along each line: `[size, some, d]`."""
    places = torch.from_numpy(rows).to(signs)
    size, d = len(signs), rows.shape[1]
    return (signs @ places.reshape(size, -1)).reshape(size, -1, d)


def calibrated(rows: Iterable[dict], family: Sequence[str]) -> list[dict]:
    """The rows of a table with `COLUMNS` in place of `PERMUTED`.

    family: the columns whose values tell families of rows apart; rows of one family are the layers.

    null: the value that chance exceeds in one of twenty cases. calibrated: the value on a scale on
    which the null is 0 and equal views are 1; 0 for views less alike than the null. p: the share of
    permutations, the identity counted as one, under which the views are at least as alike as they
    are. p_layers: the same for the most alike of all layers, so that it holds for all layers
    together. All are NaN where the value is. Rows without permutations stay as they are.
    """
    rows = list(rows)
    if not any(PERMUTED in row for row in rows):
        return rows
    names = [tuple(row[column] for column in family) for row in rows]
    nearest: dict[tuple, np.ndarray] = {}
    for name, row in zip(names, rows, strict=True):
        apart = row[PERMUTED].apart[1:]
        nearest[name] = np.fmin(nearest.get(name, np.inf), apart)
    return [
        {key: value for key, value in row.items() if key != PERMUTED}
        | dict(zip(COLUMNS, _calibrated(row[PERMUTED], nearest[name]), strict=True))
        for name, row in zip(names, rows, strict=True)
    ]


def _calibrated(permuted: Permuted, nearest: np.ndarray) -> tuple[float, float, float, float]:
    """`COLUMNS`; nearest: of each permutation, how far its most alike layer is, `[count]`."""
    apart = permuted.apart
    if not np.isfinite(apart).all():
        return np.nan, np.nan, np.nan, np.nan
    critical = np.argsort(apart, kind="stable")[int(LEVEL * len(apart))]
    null = float(np.append(permuted.value, permuted.values)[critical])
    share = max(1 - apart[0] / apart[critical], 0.0) if apart[critical] > 0 else 0.0
    return null, float(share), _p(apart[0], apart[1:]), _p(apart[0], nearest)


def _p(apart: float, others: np.ndarray) -> float:
    as_near = np.count_nonzero(others <= apart * (1 + ROUNDING))
    return (1 + as_near) / (1 + len(others))
