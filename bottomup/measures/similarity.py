"""Similarity of two views by the common measures other than PWCCA.

Linear CKA (Kornblith et al. 2019, arXiv 1905.00414), the Procrustes distance (Ding, Denain and
Steinhardt 2021, arXiv 2108.01661) and SVCCA (Raghu et al. 2017, arXiv 1706.05806) come from the
covariances of the two views, as PWCCA does (`pwcca.moments_of`). Representational similarity
analysis (Kriegeskorte, Mur and Bandettini 2008) ranks pairs of occurrences, so it uses a sample.

The published CKA is biased: with few occurrences for the number of neurons it is high for unrelated
views. Debiased CKA replaces each HSIC by its unbiased estimate (Song et al. 2012, JMLR 13; so do
Nguyen, Raghu and Kornblith 2021, arXiv 2010.15327),

    HSIC(K, L) = [tr(KL) + (1'K1)(1'L1) / ((n-1)(n-2)) - 2 (1'KL1) / (n-2)] / (n (n-3))

where K and L are the matrices of dot products of rows, with zeros in the diagonal. But no such
matrix is needed. A shift of rows does not change an HSIC. For rows of mean 0, with the covariances
S of the views and the squared norms s_i, t_i of their rows, it is proportional to

    ||S_xy||^2 - cov(s, t) / (n-2) - tr(S_xx) tr(S_yy) / (n-1)

all divided by n, not n - 1. A norm about the mean is linear in the row and its norm about any other
center, so cov(s, t) comes from the second moments of rows with their norm as one more entry.
"""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from scipy.stats import rankdata, spearmanr

from bottomup.core.errors import UserError
from bottomup.core.seeds import generator
from bottomup.measures import jackknife
from bottomup.measures.jackknife import COSINE, UNIT, Range
from bottomup.measures.null import PERMUTED, Permutations, Permuted
from bottomup.measures.pwcca import (
    BLOCK_ROWS,
    CUTOFF,
    canonical_correlations,
    correlations_of_covariance,
    enough,
    moments_of,
    rows_needed,
    varies,
)
from bottomup.views.draws import chosen
from bottomup.views.moments import Moments, merged
from bottomup.views.values import (
    CONSTANT,
    UndefinedError,
    as_array,
    checked,
    require_finite,
    require_same_rows,
    varying_deviations,
)

# The measures of `similarity` that come from moments.
MEASURES = ("cka_debiased", "cka", "procrustes_distance", "svcca_distance")
RANGES = {
    "cka_debiased": COSINE,
    "cka": UNIT,
    "procrustes_distance": Range(0, 2),
    "svcca_distance": UNIT,
    "rsa": COSINE,
}
# Their values for equal views.
SAME = {"cka_debiased": 1, "cka": 1, "procrustes_distance": 0, "svcca_distance": 0, "rsa": 1}
LEAST_DEBIASED = 4  # occurrences: its estimate divides by n - 3
LEAST_RSA = 3  # occurrences, for more than one pair
# Occurrences that RSA draws: half a million pairs.
RSA_ROWS = 1000

log = logging.getLogger(__name__)


def linear_cka(x: np.ndarray, y: np.ndarray, debiased: bool = True) -> float:
    """Linear centered kernel alignment of two views (Kornblith et al. 2019, arXiv 1905.00414).

    Parameters
    ----------
    x : ndarray of shape (n_occurrences, d_x)
        One view. A memory map is read in blocks.
    y : ndarray of shape (n_occurrences, d_y)
        The other view; row i of both is the same occurrence.
    debiased : bool, default=True
        Whether each HSIC is replaced by its unbiased estimate, see the module. The published CKA
        (`False`) is too high where occurrences are few for the number of neurons.

    Returns
    -------
    float
        1 for views that are the same up to rotation, shift and scale. Debiased from -1 to 1, and
        about 0 on average for unrelated views; else from 0 to 1.

    Raises
    ------
    UserError
        If the numbers of rows differ, there are too few (4 if debiased, else 2), or a view is
        constant or holds NaN or infinity. If debiased, also where no two rows share anything, as
        those of an identity matrix.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, unrelated = rng.normal(size=(2, 50, 20))
    >>> rotation, _ = np.linalg.qr(rng.normal(size=(20, 20)))
    >>> round(linear_cka(x, 3 * x @ rotation + 1), 6)
    1.0
    >>> abs(linear_cka(x, unrelated)) < 0.1 < linear_cka(x, unrelated, debiased=False)
    True
    """
    x, y = as_array(x), as_array(y)
    if debiased:
        return debiased_cka_from_moments(moments_with_norms(x, y, _centers(x, y)))
    return cka_from_moments(moments_of(x, y))


def procrustes_distance(x: np.ndarray, y: np.ndarray) -> float:
    """Squared distance of two views, one best rotated onto the other.

    With X and Y centered and of Frobenius norm 1, it is 2 - 2 ||X'Y||_*, where ||.||_* is the
    nuclear norm (Ding, Denain and Steinhardt 2021, arXiv 2108.01661). If widths differ, the
    narrower view counts as filled up with zeros.

    Parameters
    ----------
    x : ndarray of shape (n_occurrences, d_x)
        One view. A memory map is read in blocks.
    y : ndarray of shape (n_occurrences, d_y)
        The other view; row i of both is the same occurrence.

    Returns
    -------
    float
        From 0 (the same up to rotation, shift and scale) to 2. Unrelated views are closer than 2,
        the more so the fewer occurrences there are for the neurons.

    Raises
    ------
    UserError
        If the numbers of rows differ, there are fewer than 2, or a view is constant or holds NaN
        or infinity.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(50, 3))
    >>> round(procrustes_distance(x, 2 * x[:, [2, 0, 1]] + 1), 6)
    0.0
    >>> procrustes_distance(x, x**2) > 0.5
    True
    """
    return procrustes_from_moments(moments_of(x, y))


def svcca_distance(x: np.ndarray, y: np.ndarray, variance: float = 0.99) -> float:
    """1 less the mean canonical correlation of the first principal components of two views.

    Of each view, it keeps as few components as hold a share of its variance (Raghu et al. 2017,
    arXiv 1706.05806). A rotation of a view changes nothing; any other linear map may change which
    components are kept, unless `variance` is 1.

    Parameters
    ----------
    x : ndarray of shape (n_occurrences, d_x)
        One view. A memory map is read in blocks.
    y : ndarray of shape (n_occurrences, d_y)
        The other view; row i of both is the same occurrence.
    variance : float, default=0.99
        The share of variance to keep, above 0 and at most 1.

    Returns
    -------
    float
        From 0 (the same up to a linear map of the kept components) to 1 (uncorrelated). Unrelated
        views are below 1; with fewer than four occurrences for each component the log has a
        warning.

    Raises
    ------
    UserError
        If the numbers of rows differ, there are fewer than 2, a view is constant or holds NaN or
        infinity, or `variance` is not in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 500, 4))
    >>> svcca_distance(x, x + 0.1 * noise) < 0.01 < 0.8 < svcca_distance(x, noise)
    True
    """
    return svcca_from_moments(moments_of(x, y), variance)


def rsa(x: np.ndarray, y: np.ndarray, n: int = RSA_ROWS, seed: int = 1) -> float:
    """Representational similarity analysis: do two views find the same pairs of occurrences alike?

    Spearman's correlation of the dissimilarities of all pairs; of a pair, the dissimilarity is 1
    less Pearson's correlation of its rows (Kriegeskorte, Mur and Bandettini 2008).

    Parameters
    ----------
    x : ndarray of shape (n_occurrences, d_x)
        One view. A memory map is read in blocks.
    y : ndarray of shape (n_occurrences, d_y)
        The other view; row i of both is the same occurrence.
    n : int, default=1000
        Occurrences drawn; all, where there are fewer. In memory are a few matrices `[n, n]`.
    seed : int, default=1
        Seed of their draw.

    Returns
    -------
    float
        From -1 to 1; unrelated views give 0 on average.

    Raises
    ------
    UserError
        If the numbers of rows differ, a row is constant or holds NaN or infinity, or all pairs
        are equally dissimilar, as those of fewer than 3 rows are.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(50, 8))
    >>> round(rsa(x, 2 * x), 6)
    1.0
    """
    x, y = checked(x, "similarity"), checked(y, "similarity")
    rows = _drawn(x, y, n, seed)
    return _rank_correlation(_dissimilarities(x[rows]), _dissimilarities(y[rows]))


def cka_from_moments(moments: Moments) -> float:
    """As plain `linear_cka`, from the moments of the two views."""
    _check(moments)
    return _normalized(_squares(moments))


def procrustes_from_moments(moments: Moments) -> float:
    """As `procrustes_distance`, from the moments of the two views."""
    _check(moments)
    scale = np.sqrt(np.trace(moments.xx) * np.trace(moments.yy))
    return float(2 - 2 * min(np.linalg.norm(moments.xy, "nuc") / scale, 1))


def svcca_from_moments(moments: Moments, variance: float = 0.99) -> float:
    """As `svcca_distance`, from the moments of the two views."""
    kept = truncated(moments, variance)
    enough(kept, "SVCCA", "components")
    return _svcca(kept)


def debiased_cka_from_moments(moments: Moments) -> float:
    """As `linear_cka`, from moments of the two views made by `moments_with_norms`."""
    views = without_norms(moments)
    _check(views, LEAST_DEBIASED)
    squares = _squares(views)
    traces = np.array([np.trace(views.xx), np.trace(views.yy)])
    hsic = squares - _covariance_of_norms(moments) / (views.n - 2)
    hsic -= np.outer(traces, traces) / (views.n - 1)
    # The terms cancel but for rounding.
    if (hsic.diagonal() <= CUTOFF * squares.diagonal()).any():
        raise UndefinedError(
            f"no two of {views.n} occurrences are more alike than others; debiased CKA needs some "
            f"that are; look at more occurrences, or at the plain CKA"
        )
    return _normalized(hsic)


def similarity(
    x: np.ndarray,
    y: np.ndarray,
    blocks: np.ndarray,
    variance: float = 0.99,
    rsa_rows: int = RSA_ROWS,
    seed: int = 1,
    permutations: Permutations | None = None,
    seen: np.ndarray | None = None,
) -> Iterator[dict]:
    """Rows of `similarity_between_runs.csv`, see docs/tables.md; with `permutations` of the rows of
    y, what `null.calibrated` needs.

    x, y: two views `[n, d_x]` and `[n, d_y]`. blocks: the block of each occurrence, `[n]`.
    variance: see `svcca_distance`. rsa_rows, seed: occurrences that `rsa` draws. seen: of all
    occurrences that a study draws from, which these are, see `views.draws`; all by default.

    One pass over the views, block by block: the moments without a block are those of all rows less
    its own. RSA without a block uses the rest of the same draw. What is not defined, with all
    blocks or without one, has no value.
    """
    require_same_rows(x, y)
    x, y = (checked(view, "similarity", blocks=blocks) for view in (x, y))
    count, centers = jackknife.n_blocks(blocks), _centers(x, y)
    of_blocks = [np.flatnonzero(blocks == number) for number in range(count)]
    parts = [moments_with_norms(x[of], y[of], centers) for of in of_blocks]
    whole = merged(parts)
    needed = _needed(whole, variance)
    values = _values(whole, variance, needed)
    without = _without(
        [part.n for part in parts],
        # Without one of a few large blocks so little may be left that the bias is another one.
        lambda number: _values(whole.without(parts[number]), variance, needed / 2),
        values,
    )
    columns = zip(MEASURES, values, needed.tolist(), without.T, strict=True)
    rows = [_row(of, value, whole.n, least, rest) for of, value, least, rest in columns]
    if permutations:
        covariances = _covariances(x, y, centers, whole, permutations)
        permuted = _permuted(whole, variance, covariances, values).T
        rows = [row | _null(row, of) for row, of in zip(rows, permuted, strict=True)]
    yield from rows
    drawn = _drawn(x, y, rsa_rows, seed, seen)
    yield _rsa_row(x, y, blocks, count, drawn, permutations)


def debiased_cka(
    x: np.ndarray,
    y: np.ndarray,
    blocks: np.ndarray,
    count: int,
    permutations: Permutations | None = None,
) -> dict:
    """The row cka_debiased of `similarity` alone; count: of blocks, some of which may be empty."""
    require_same_rows(x, y)
    x, y = (checked(view, "similarity", blocks=blocks) for view in (x, y))
    centers = _centers(x, y)
    of_blocks = [np.flatnonzero(blocks == number) for number in range(count)]
    parts = [moments_with_norms(x[of], y[of], centers) for of in of_blocks]
    whole, measure = merged(parts), debiased_cka_from_moments
    value = _defined(measure, whole)

    def rest(number: int) -> float:
        others = whole.without(parts[number])
        return _defined(measure, others) if others.n >= LEAST_DEBIASED else np.nan

    without = _without([part.n for part in parts], rest, value)
    row = _row("cka_debiased", value, whole.n, LEAST_DEBIASED, without)
    if permutations is None:
        return row
    covariances = _covariances(x, y, centers, whole, permutations)
    return row | _null(row, np.array([_defined(measure, whole.crossed(of)) for of in covariances]))


def moments_with_norms(
    x: np.ndarray, y: np.ndarray, centers: tuple[np.ndarray, np.ndarray]
) -> Moments:
    """Moments of [s, x - c] and [y - d, t], read in blocks; s and t are squared norms of rows.

    centers: c `[d_x]` and d `[d_y]`. Any centers will do if moments to be merged share them;
    centers near the mean cost no digits.
    """
    moments = Moments(x.shape[1] + 1, y.shape[1] + 1)
    for start in range(0, max(len(x), len(y)), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        a, s = _with_norms(x[block], centers[0])
        moments.update(np.hstack([s, a]), np.hstack(_with_norms(y[block], centers[1])))
    return moments


def _with_norms(rows: np.ndarray, center: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows less their center `[n, d]`, and their squared norms `[n, 1]`."""
    rows = rows - center
    return rows, (rows**2).sum(1, keepdims=True)


def without_norms(moments: Moments) -> Moments:
    """The moments of the views, less their centers, out of moments from `moments_with_norms`."""
    views = Moments(moments.d_x - 1, moments.d_y - 1)
    views.n, views.mean, views.scatter = moments.n, moments.mean[1:-1], moments.scatter[1:-1, 1:-1]
    return views


def truncated(moments: Moments, variance: float) -> Moments:
    """The moments of the fewest principal components of each view that hold a share of its
    variance."""
    if not 0 < variance <= 1:
        raise UserError(f"SVCCA with variance {variance}; allowed: above 0, at most 1; usual: 0.99")
    _check(moments)
    bases = _bases(moments, variance)
    basis = torch.block_diag(*map(torch.from_numpy, bases)).to(moments.mean)
    kept = Moments(bases[0].shape[1], bases[1].shape[1], moments.mean.device)
    kept.n = moments.n
    kept.mean = moments.mean @ basis
    kept.scatter = basis.T @ moments.scatter @ basis
    return kept


def _bases(moments: Moments, variance: float) -> list[np.ndarray]:
    return [_components(covariance, variance) for covariance in (moments.xx, moments.yy)]


def _components(covariance: np.ndarray, variance: float) -> np.ndarray:
    """The first principal components, `[d, n_kept]`. If all variance is kept, these are the neurons
    as they are, so that those of little variance lose no digits."""
    if variance == 1:
        return np.eye(len(covariance))
    values, vectors = np.linalg.eigh(covariance)
    shares = np.cumsum(values[::-1]) / values.sum()
    n_kept = np.searchsorted(shares, variance) + 1
    return vectors[:, -n_kept:]


def _svcca(kept: Moments) -> float:
    return float(1 - canonical_correlations(kept).mean())


def _needed(moments: Moments, variance: float) -> np.ndarray:
    """How many occurrences each of `MEASURES` needs, from moments with norms; the log has a warning
    if there are too few.

    Like PWCCA, the plain CKA, Procrustes and SVCCA take views for alike that have fewer occurrences
    than neurons, or components.
    """
    views = without_norms(moments)
    enough(views, "plain CKA and Procrustes distance")
    of_views, of_kept = rows_needed(views.d_x, views.d_y), 2
    if views.n > 1 and varies(views):
        kept = truncated(views, variance)
        enough(kept, "SVCCA", "components")
        of_kept = rows_needed(kept.d_x, kept.d_y)
    return np.array([LEAST_DEBIASED, of_views, of_views, of_kept])


def _values(moments: Moments, variance: float, needed: np.ndarray) -> np.ndarray:
    """`MEASURES`, from moments with norms: `[len(MEASURES)]`; NaN where not defined, and with
    fewer occurrences than are `needed` of each."""
    views = without_norms(moments)
    measures: tuple[Callable[[], float], ...] = (
        lambda: debiased_cka_from_moments(moments),
        lambda: cka_from_moments(views),
        lambda: procrustes_from_moments(views),
        lambda: _svcca(truncated(views, variance)),
    )
    least = np.maximum(needed, [LEAST_DEBIASED, 2, 2, 2])
    return np.array(
        [
            _defined(measure) if views.n >= n else np.nan
            for measure, n in zip(measures, least, strict=True)
        ]
    )


def _covariances(
    x: np.ndarray,
    y: np.ndarray,
    centers: tuple[np.ndarray, np.ndarray],
    moments: Moments,
    permutations: Permutations,
) -> np.ndarray:
    """The covariances of moments with norms, with permuted rows: `[count, d_x + 1, d_y + 1]`."""

    def of_x(rows: np.ndarray) -> np.ndarray:
        return np.hstack(_with_norms(x[rows], centers[0])[::-1]) - moments.mean_x

    def of_y(rows: np.ndarray) -> np.ndarray:
        return np.hstack(_with_norms(y[rows], centers[1])) - moments.mean_y

    return permutations.covariances(of_x, of_y, len(x))


def _permuted(
    moments: Moments, variance: float, covariances: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """`MEASURES` for each of the `_covariances`, `[count, len(MEASURES)]`; NaN where `known` is."""
    by_permutation = np.full((len(covariances), len(MEASURES)), np.nan)
    if np.isnan(known).all():
        return by_permutation
    views = without_norms(moments)
    x_basis, y_basis = _bases(views, variance)
    correlations = correlations_of_covariance(truncated(views, variance))
    for values, covariance in zip(by_permutation, covariances, strict=True):
        permuted = moments.crossed(covariance)
        views, xy = without_norms(permuted), covariance[1:, :-1]
        values[0] = _defined(debiased_cka_from_moments, permuted)
        values[1] = cka_from_moments(views)
        values[2] = procrustes_from_moments(views)
        values[3] = 1 - correlations(x_basis.T @ xy @ y_basis).mean()
    by_permutation[:, np.isnan(known)] = np.nan
    return by_permutation


def _null(row: dict, values: np.ndarray) -> dict:
    return {PERMUTED: Permuted(row["value"], values, SAME[row["measure"]])}


def _squares(moments: Moments) -> np.ndarray:
    """Squared Frobenius norms of the covariances of x and y with x and y: `[2, 2]`."""
    xx, xy, yy = (np.sum(part**2) for part in (moments.xx, moments.xy, moments.yy))
    return np.array([[xx, xy], [xy, yy]])


def _covariance_of_norms(moments: Moments) -> np.ndarray:
    """The covariances of s_i and t_i, squared norms of centered rows, from moments with norms:
    `[2, 2]`.

    |a - m|^2 = |a|^2 - 2 m'a + |m|^2, whose last term is the same for all rows a.
    """
    mean = moments.mean.cpu().numpy()
    weights = np.zeros((2, len(mean)))
    weights[0, 0] = weights[1, -1] = 1
    weights[0, 1 : moments.d_x] = -2 * mean[1 : moments.d_x]
    weights[1, moments.d_x : -1] = -2 * mean[moments.d_x : -1]
    return weights @ moments.scatter.cpu().numpy() @ weights.T / moments.n


def _normalized(products: np.ndarray) -> float:
    """The product of x and y over the geometric mean of the products of each with itself, from
    `[2, 2]`."""
    return float(np.clip(products[0, 1] / np.sqrt(products.diagonal()).prod(), -1, 1))


def _without(
    sizes: list[int], measure: Callable[[int], np.ndarray | float], values: np.ndarray | float
) -> np.ndarray:
    """What `measure` gives without each block, `[n_blocks, ...]`; `values`, those with all blocks,
    where a block is empty or the only one."""
    total = sum(sizes)
    numbers = enumerate(sizes)
    return np.stack([measure(number) if 0 < size < total else values for number, size in numbers])


def _rsa_row(
    x: np.ndarray,
    y: np.ndarray,
    blocks: np.ndarray,
    count: int,
    rows: np.ndarray,
    permutations: Permutations | None,
) -> dict:
    """As `similarity`, for RSA of the `rows`: ranks are those among the remaining pairs."""
    try:
        a, b = (_dissimilarities(view[rows]) for view in (x, y))
        value = _rank_correlation(a, b)
    except UndefinedError:
        row = _row("rsa", np.nan, len(rows), LEAST_RSA, np.full(count, np.nan))
        return row | _null(row, np.full(permutations.count, np.nan)) if permutations else row

    def rest(number: int) -> float:
        kept = np.flatnonzero(blocks[rows] != number)
        return _defined(_rank_correlation, *(of_view[np.ix_(kept, kept)] for of_view in (a, b)))

    sizes = np.bincount(blocks[rows], minlength=count).tolist()
    row = _row("rsa", value, len(rows), LEAST_RSA, _without(sizes, rest, value))
    return row | _null(row, _permuted_ranks(a, b, permutations)) if permutations else row


def _permuted_ranks(a: np.ndarray, b: np.ndarray, permutations: Permutations) -> np.ndarray:
    """As `_rank_correlation`, with the rows and columns of b permuted: `[count]`."""
    pairs = np.triu_indices(len(a), 1)
    ranks = [rankdata(of_view[pairs]) for of_view in (a, b)]
    first, second = (of_view - of_view.mean() for of_view in ranks)
    scale = np.sqrt((first @ first) * (second @ second))
    of_pair = np.zeros(b.shape)
    of_pair[pairs] = second / scale
    of_pair += of_pair.T
    orders = permutations.of(len(a))
    return np.array([first @ of_pair[order[pairs[0]], order[pairs[1]]] for order in orders])


def _defined(measure: Callable[..., float], *of: Any) -> float:
    """What `measure` gives, NaN where that is not defined."""
    try:
        return measure(*of)
    except UndefinedError:
        return np.nan


def _row(measure: str, value: float, n: int, needed: int, without: np.ndarray) -> dict:
    if n >= needed and np.isnan(value):
        log.warning(
            f"no {measure} of {n} occurrences: a view or one of its rows does not vary, or all "
            "are equally alike"
        )
    estimate = jackknife.estimate("value", value, without, RANGES[measure])
    return {"measure": measure, **estimate, "n_occurrences": n, "n_needed": needed}


def _drawn(
    x: np.ndarray, y: np.ndarray, n: int, seed: int, seen: np.ndarray | None = None
) -> np.ndarray:
    """Row numbers of the occurrences that RSA uses, in the order of the text; seen: see
    `similarity`."""
    require_same_rows(x, y)
    if n < 1:
        raise UserError(f"n: found {n}; allowed: at least 1; usual: {RSA_ROWS}")
    seen = np.full(len(x), True) if seen is None else seen
    return chosen(generator(seed, "rsa"), n, seen)


def _dissimilarities(rows: np.ndarray) -> np.ndarray:
    """1 less Pearson's correlation of each pair of rows `[n, d]`, but for a factor: `[n, n]`."""
    rows = np.array(rows, dtype=np.float64)
    if (rows.var(1) <= CONSTANT * (rows**2).sum(1)).any():
        raise UndefinedError(
            "an occurrence has the same value in all neurons; RSA needs rows that vary; "
            "look for a run or layer that collapsed"
        )
    rows -= rows.mean(1, keepdims=True)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    # It is half the squared distance of two such rows. Less their mean, that is precise even if all
    # rows are alike, as they are if one neuron is much larger than all others.
    rows -= rows.mean(0)
    squares = np.einsum("nd,nd->n", rows, rows)
    dissimilarities = (squares[:, None] + squares) / 2 - rows @ rows.T
    # Rounded to 12 digits of the largest, equally dissimilar pairs are ties.
    unit = np.exp2(np.frexp(dissimilarities.max())[1])
    return np.round(dissimilarities / unit, 12)


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's correlation of the entries above the diagonals of two matrices `[n, n]`."""
    pairs = np.triu_indices(len(a), 1)
    above = a[pairs], b[pairs]
    if any(len(of_view) == 0 or np.ptp(of_view) == 0 for of_view in above):
        raise UndefinedError(
            f"all pairs of {len(a)} occurrences are equally dissimilar; RSA needs some that are "
            f"more alike than others; look at more occurrences, or for a layer that collapsed"
        )
    return float(spearmanr(*above).statistic)


def _centers(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The means of the first rows: close enough to the means of all."""
    firsts = (np.asarray(view[:BLOCK_ROWS], dtype=np.float64) for view in (x, y))
    means = [rows.sum(0) / max(len(rows), 1) for rows in firsts]
    require_finite(np.concatenate(means), "similarity")
    return tuple(means)


def _check(moments: Moments, needed: int = 2) -> None:
    """Raise UserError if the views cannot be compared."""
    if moments.n < needed:
        raise UserError(
            f"occurrences in a view: {moments.n}; allowed: at least {needed}; draw more of them"
        )
    for covariance, mean in ((moments.xx, moments.mean_x), (moments.yy, moments.mean_y)):
        varying_deviations(covariance.diagonal(), mean, "similarity")
