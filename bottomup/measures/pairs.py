"""PWCCA of two views as rows of a table: with its intervals, and with its null."""

from collections.abc import Sequence

import numpy as np

from bottomup.measures import jackknife, pwcca
from bottomup.measures.blocks import distances, moments_of_blocks
from bottomup.measures.null import PERMUTED, Permutations, Permuted
from bottomup.views.moments import Moments, merged


def pwcca_rows(
    x: np.ndarray,
    y: np.ndarray,
    blocks: np.ndarray,
    variants: Sequence[str],
    permutations: Permutations | None = None,
) -> list[dict]:
    """Rows of a table for two views: variant, weights, the columns of `distances`, and with
    `permutations` of the rows of y what `null.calibrated` needs."""
    kinds = pwcca.kinds_of(variants)
    parts = moments_of_blocks(x, y, blocks, jackknife.n_blocks(blocks))
    rows = [
        {"variant": variant, "weights": weights, **row}
        for (variant, weights), row in zip(kinds, distances(parts, kinds), strict=True)
    ]
    if permutations and np.isfinite(rows[0]["distance"]):
        permuted = _permuted(x, y, merged(parts), kinds, permutations)
    elif permutations:
        permuted = np.full((permutations.count, len(kinds)), np.nan)
    else:
        return rows
    return [
        {**row, PERMUTED: Permuted(row["distance"], of_kind, same=0)}
        for row, of_kind in zip(rows, permuted.T, strict=True)
    ]


def _permuted(
    x: np.ndarray,
    y: np.ndarray,
    moments: Moments,
    kinds: list[tuple[str, str]],
    permutations: Permutations,
) -> np.ndarray:
    """The distances of each kind with the rows of y permuted: `[count, len(kinds)]`."""
    covariances = permutations.covariances(
        lambda rows: x[rows] - moments.mean_x,
        lambda rows: y[rows] - moments.mean_y,
        moments.n,
    )
    measure = pwcca.of_covariance(moments, kinds)
    return np.stack([measure(covariance) for covariance in covariances])
