"""Projection-weighted canonical correlation analysis, from second moments alone.

Two variants of one distance between two views of the same occurrences:

`definition` is the distance of Morcos, Raghu and Bengio 2018 (arXiv 1806.05759). With the canonical
variates h_i of one view and the canonical correlations rho_i, both of the centered views,

    alpha_i = sum_j |<h_i, x_j>|        distance = 1 - sum_i alpha_i rho_i / sum_i alpha_i

where j runs over the neurons of the weighting view. Since <h_i, x_j> / n is a covariance, the
distance needs only the covariances of the two views.

`svcca-2019` is what the usual public code (google/svcca, as of 2019) computes instead, and so what
was published with it. Only the weights differ. Let u_i be the singular vectors of
Sigma_xx^-1/2 Sigma_xy Sigma_yy^-1/2. The code replaces h_i by the vectors

    z_i = u_i^T (x - mu) + mu_i         (no Sigma_xx^-1/2; neuron i's mean on variate i)

orthonormalized by QR in order of falling rho_i, and does not center x in <., x_j>. So a constant
shift changes the value, and so does the sign of each u_i, which is arbitrary: it is whatever
LAPACK's SVD of that matrix returns, as it was then. Use this variant only to compare with published
numbers.
"""

import logging
from collections.abc import Callable, Sequence

import numpy as np
import torch
from scipy.linalg import solve_triangular
from torch import Tensor

from bottomup.core.errors import UserError
from bottomup.views.moments import Moments
from bottomup.views.values import deviations, require_finite, shaped, varying_deviations

# A variance below this share of the largest, of neurons of deviation 1, counts as zero. It is far
# above the rounding of float64 moments (about 1e-15) and far below any direction of a layer that
# carries information.
CUTOFF = 1e-12
# If the smallest pivot of a factor is at least this share of its largest, nothing is cut off.
SAFE = 1e-3
# A correlation below this is rounding, and so is the direction of its variates.
UNCORRELATED = 1e-8
# Occurrences for each neuron, below which no table has a distance. With four, two views without any
# relation are at 0.57 in place of 1, and a distance of 0.1 comes out 3 % too small; with fewer the
# distance of any two views falls to 0 (docs/decisions.md).
ROWS_FOR_A_NEURON = 4
# Blocks that fit a core's cache: 8192 rows take 1.7 times as long at width 128.
BLOCK_ROWS = 2048

# The views that can carry each variant's weights. The code behind svcca-2019 always takes the first
# of two views of equal width.
WEIGHTS = {"definition": ("x", "y"), "svcca-2019": ("x",)}

log = logging.getLogger(__name__)


def pwcca_distance(
    x: np.ndarray, y: np.ndarray, variant: str = "definition", weights: str = "x"
) -> float:
    """PWCCA distance of two views of the same occurrences.

    Canonical correlation analysis finds pairs of directions, one in each view, that go together
    most closely. The distance is 1 less the weighted mean of their correlations; a direction
    weighs as much as the neurons of the weighting view project on it (Morcos, Raghu and Bengio
    2018, arXiv 1806.05759).

    Parameters
    ----------
    x : ndarray of shape (n_occurrences, d_x)
        One view. A memory map is read in blocks.
    y : ndarray of shape (n_occurrences, d_y)
        The other view; row i of both is the same occurrence.
    variant : {"definition", "svcca-2019"}, default="definition"
        As the paper defines the distance, or as the usual public code (google/svcca) computes it:
        take that only to compare with published numbers. The module says how they differ.
    weights : {"x", "y"}, default="x"
        The view that weighs. The distance is not symmetric, but
        ``pwcca_distance(x, y, weights="y") == pwcca_distance(y, x, weights="x")``.

    Returns
    -------
    float
        From 0 (the same up to a linear map) to 1 (uncorrelated). Views without any relation are
        below 1: the mean squared correlation is then `d_y / (n_occurrences - 1)`.

    Raises
    ------
    UserError
        If the numbers of rows differ, a view is constant or holds NaN or infinity, or `variant`
        or `weights` is none of the above.

    Notes
    -----
    With few occurrences correlations are high whatever the views hold, and with fewer than
    `max(d_x, d_y) + 2` all are 1. With fewer than `2 * (d_x + d_y)` the log has a warning, and the
    tables of the workflow have no value.

    What changes nothing: of `y`, any invertible affine map; of the weighting view `x`, a shift, a
    common scale, and permuting or negating neurons, but not a general rotation, because weights
    add absolute values over neurons. `svcca-2019` also changes with a shift and with the signs of
    `x`, unless its mean is 0.

    Each neuron is first divided by its deviation, so that it does not matter how large it is.
    Directions with less than `CUTOFF` (1e-12) of the largest variance are then left out, so
    constant or duplicated neurons do no harm; the log says how many. (`svcca-2019` compares with
    the variances of the neurons as they are, as the public code does.)

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(1000, 4))
    >>> turned = x @ rng.normal(size=(4, 4)) + 1  # a linear map of x
    >>> abs(pwcca_distance(x, turned)) < 1e-9
    True
    >>> pwcca_distance(x, rng.normal(size=(1000, 4))) > 0.9
    True
    """
    return pwcca_from_moments(moments_of(x, y), weights, variant)


def moments_of(
    x: np.ndarray | Tensor, y: np.ndarray | Tensor, device: torch.device | str = "cpu"
) -> Moments:
    """The moments of two views, read in blocks of rows.

    Parameters
    ----------
    x : ndarray or Tensor of shape (n_occurrences, d_x)
        One view; a memory map is never in memory as a whole.
    y : ndarray or Tensor of shape (n_occurrences, d_y)
        The other view, of the same occurrences.
    device : torch.device or str, default="cpu"
        Where the moments are added up. It needs float64.

    Returns
    -------
    Moments
        From which `pwcca_from_moments` computes the distance.

    Raises
    ------
    UserError
        If the numbers of rows differ, or a view is no matrix of real numbers.

    Examples
    --------
    >>> import numpy as np
    >>> view = np.random.default_rng(0).normal(size=(100, 3))
    >>> moments = moments_of(view[:, :2], view)
    >>> moments.n, moments.xy.shape
    (100, (2, 3))
    """
    x, y = shaped(x), shaped(y)
    moments = Moments(x.shape[1], y.shape[1], device)
    for start in range(0, max(len(x), len(y)), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        moments.update(x[block], y[block])
    return moments


def pwcca_from_moments(moments: Moments, weights: str = "x", variant: str = "definition") -> float:
    """PWCCA distance from the moments of two views, as `pwcca_distance`.

    Covariances are all that the distance needs. So one pass over blocks of rows is enough, and
    moments of several parts of a text can be merged.

    Parameters
    ----------
    moments : Moments
        Of the views x and y.
    weights : {"x", "y"}, default="x"
        The view that weighs.
    variant : {"definition", "svcca-2019"}, default="definition"
        See `pwcca_distance`.

    Returns
    -------
    float
        From 0 (the same up to a linear map) to 1 (uncorrelated).

    Raises
    ------
    UserError
        If a view is constant or holds NaN or infinity, or `variant` or `weights` is none of the
        above.

    Examples
    --------
    >>> import numpy as np
    >>> from bottomup.measures.pwcca import pwcca_distance
    >>> from bottomup.views.moments import Moments
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(1000, 4)), rng.normal(size=(1000, 3))
    >>> moments = Moments(4, 3)
    >>> for rows in np.split(np.arange(1000), 10):
    ...     moments.update(x[rows], y[rows])
    >>> abs(pwcca_from_moments(moments) - pwcca_distance(x, y)) < 1e-9
    True
    """
    if variant not in WEIGHTS or weights not in ("x", "y"):
        raise UserError(
            f"PWCCA variant {variant!r} with weights {weights!r}; "
            f"allowed: variant {' or '.join(WEIGHTS)}, weights x or y"
        )
    if moments.n < 2:
        raise UserError(
            f"occurrences in a view: {moments.n}; allowed: at least 2; draw more of them"
        )
    enough(moments)
    tell_left_out(moments)
    if weights == "y":
        moments = moments.swapped()
    return float(distances(moments, [(variant, "x")])[0])


def kinds_of(variants: Sequence[str]) -> list[tuple[str, str]]:
    """Each of the `variants` with each view that can carry its weights: (variant, weights)."""
    return [(variant, weights) for variant in variants for weights in WEIGHTS[variant]]


def distances(moments: Moments, kinds: list[tuple[str, str]]) -> np.ndarray:
    """The distances of several kinds (see `kinds_of`) at once: `[len(kinds)]`."""
    return of_covariance(moments, kinds)(moments.xy)


def of_covariance(
    moments: Moments, kinds: list[tuple[str, str]]
) -> Callable[[np.ndarray], np.ndarray]:
    """`distances` as a function of the covariance of x and y `[d_x, d_y]`: what each view alone
    decides is computed once, for views whose rows are permuted."""
    measures = {"definition": _definition, "svcca-2019": _svcca_2019}
    of_variant = {
        variant: measures[variant](moments, [weights for name, weights in kinds if name == variant])
        for variant, _ in kinds
    }

    def distances_of(xy: np.ndarray) -> np.ndarray:
        values = {variant: measure(xy) for variant, measure in of_variant.items()}
        return np.array([values[variant][weights] for variant, weights in kinds])

    return distances_of


def canonical_correlations(moments: Moments) -> np.ndarray:
    """The canonical correlations of two views, falling, 0 to 1: `[min(rank of x, rank of y)]`."""
    return correlations_of_covariance(moments)(moments.xy)


def correlations_of_covariance(moments: Moments) -> Callable[[np.ndarray], np.ndarray]:
    """`canonical_correlations` as a function of the covariance, as in `of_covariance`."""
    _, f_inverse, _, g_inverse = _factors(moments)

    def correlations_of(xy: np.ndarray) -> np.ndarray:
        return np.linalg.svd(f_inverse @ xy @ g_inverse.T, compute_uv=False).clip(0, 1)

    return correlations_of


def rows_needed(d_x: int, d_y: int) -> int:
    """How many occurrences tell related views of these widths from unrelated ones."""
    return ROWS_FOR_A_NEURON * (d_x + d_y) // 2


def enough(moments: Moments, what: str = "PWCCA", parts: str = "neurons") -> bool:
    """Whether there are as many occurrences as are needed; if not, a warning says so."""
    needed = rows_needed(moments.d_x, moments.d_y)
    if moments.n < needed:
        log.warning(
            f"{what} of {moments.d_x} and {moments.d_y} {parts} on {moments.n} occurrences: too "
            f"few to tell related views from unrelated ones; {needed} would do"
        )
    return moments.n >= needed


def varies(moments: Moments) -> bool:
    """Whether both views vary; UserError if they hold NaN or infinity.

    Layer 0 of a model that tells no positions there is the same at all occurrences of a type.
    """
    variances = moments.xx.diagonal(), moments.yy.diagonal()
    for variance in variances:
        require_finite(variance, "PWCCA")
    scales = map(deviations, variances, (moments.mean_x, moments.mean_y))
    return all(np.isfinite(scale).any() for scale in scales)


def tell_left_out(moments: Moments) -> None:
    """Tell the log which directions of the views have no part in the distance, if any."""
    views = (moments.xx, moments.mean_x), (moments.yy, moments.mean_y)
    for name, (covariance, mean) in zip("xy", views, strict=True):
        varying = np.isfinite(_deviations(covariance, mean)).sum()
        constant, redundant = len(mean) - varying, varying - _factor(covariance, mean)[0].shape[1]
        if constant or redundant:
            log.info(
                f"PWCCA leaves out {constant + redundant} of {len(mean)} directions of {name}: "
                f"{constant} constant neurons, {redundant} that the others tell to {CUTOFF:g} of "
                "the largest variance"
            )


# A variant's distances, by weighting view, as a function of the covariance of x and y.
OfCovariance = Callable[[np.ndarray], dict[str, float]]


def _definition(moments: Moments, weights: list[str]) -> OfCovariance:
    """With Sigma_xx = F F^T, Sigma_yy = G G^T and W = F^-1 Sigma_xy G^-T, for any such F and G, the
    singular values of W are the rho_i, and with its left singular vectors the variates are
    h_i = u_i^T F^-1 (x - mu).

    Weighted by x, alpha_i / n is the L1 norm of <h_i, x> / n = F u_i. The u_i are eigenvectors of
    W W^T and the rho_i^2 its eigenvalues, which takes half the time of W's singular vectors. Their
    rounding, 1e-16, is one of 1e-8 in a rho_i near 0.
    """
    f, f_inverse, g, g_inverse = _factors(moments)

    def distances_of(xy: np.ndarray) -> dict[str, float]:
        whitened = f_inverse @ xy @ g_inverse.T  # [rank of x, rank of y]
        rank, values = min(whitened.shape), {}
        for view, factor, w in (("x", f, whitened), ("y", g, whitened.T)):
            if view in weights:
                squares, u = np.linalg.eigh(w @ w.T)
                values[view] = _weighted(factor @ u[:, -rank:], np.sqrt(squares[-rank:].clip(0, 1)))
        return values

    return distances_of


def _factors(moments: Moments) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The factors of both covariances, each with its inverse; see `_factor`."""
    of_x, of_y = (moments.xx, moments.mean_x), (moments.yy, moments.mean_y)
    return *_factor(*of_x), *_factor(*of_y)


def _weighted(covariances: np.ndarray, correlations: np.ndarray) -> float:
    alpha = np.abs(covariances).sum(0)
    return 1 - alpha @ correlations / alpha.sum()


def _svcca_2019(moments: Moments, _weights: list[str]) -> OfCovariance:
    """The distance weighted by x, the only view that can.

    alpha_i is |<p_i, x_j>| summed over j, over sqrt(n), with p_i from the QR of the z_i. With
    Z Z^T = L L^T, the p_i are the rows of L^-1 Z (up to a sign, which |.| drops), so that
    L^-1 Z X^T holds all <p_i, x_j>; both products are second moments about 0.
    """
    _deviations(moments.xx, moments.mean_x), _deviations(moments.yy, moments.mean_y)
    x, y = _spectrum(moments.xx), _spectrum(moments.yy)
    rank = min(len(x[0]), len(y[0]))
    # Whitened by symmetric roots, in neurons: the signs depend on it.
    x_root, y_root = _inverse_root(x), _inverse_root(y)
    xx, mean, basis = moments.xx, moments.mean_x, x[1]
    shift = mean[:rank]  # the mean of neuron i, added to variate i

    def distances_of(xy: np.ndarray) -> dict[str, float]:
        u, correlations, _ = np.linalg.svd(x_root @ xy @ y_root)
        u, correlations = u[:, :rank], correlations[:rank].clip(0, 1)
        if len(basis) > basis.shape[1]:
            # Variates without correlation may point where x does not vary: others take their place.
            n = int((correlations > UNCORRELATED).sum())
            within, _ = np.linalg.qr(basis.T @ u[:, :n], mode="complete")
            u[:, n:] = basis @ within[:, n:rank]
        projected = u.T @ xx  # [rank, d_x]
        zz = projected @ u + np.outer(shift, shift)
        zx = projected + np.outer(shift, mean)
        products = solve_triangular(np.linalg.cholesky(zz), zx, lower=True)
        return {"x": _weighted(products.T, correlations)}

    return distances_of


def _factor(covariance: np.ndarray, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """F `[d, rank]` and its inverse `[rank, d]`; F F^T is the covariance where the view varies.

    It is the factor of the correlations, with the deviations put back: so a neuron's size costs no
    digits. Cholesky takes a fourth of the time of a spectrum. It is used unless a neuron hardly
    varies beyond what the neurons before it tell of it.
    """
    deviation = _deviations(covariance, mean)
    varying = np.flatnonzero(np.isfinite(deviation))
    scales = deviation[varying]
    root, inverse = _root(covariance[np.ix_(varying, varying)] / np.outer(scales, scales))
    if len(varying) == len(mean):
        return scales[:, None] * root, inverse / scales
    f, f_inverse = np.zeros((len(mean), root.shape[1])), np.zeros((len(inverse), len(mean)))
    f[varying], f_inverse[:, varying] = scales[:, None] * root, inverse / scales
    return f, f_inverse


def _root(correlations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As `_factor`, of neurons of deviation 1."""
    try:
        root = np.linalg.cholesky(correlations)
    except np.linalg.LinAlgError:
        root = np.zeros_like(correlations)
    if root.diagonal().min() > SAFE * root.diagonal().max():
        return root, solve_triangular(root, np.eye(len(root)), lower=True)
    values, vectors = _spectrum(correlations)
    return vectors * np.sqrt(values), (vectors / np.sqrt(values)).T


def _spectrum(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues `[rank]` and eigenvectors `[d, rank]` of the directions that vary."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > CUTOFF * values[-1]
    return values[kept], vectors[:, kept]


def _inverse_root(spectrum: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The symmetric matrix that whitens the directions that vary: `[d, d]`."""
    values, vectors = spectrum
    return vectors / np.sqrt(values) @ vectors.T


def _deviations(covariance: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """As `deviations`; UserError if the view cannot be compared with any other."""
    return varying_deviations(covariance.diagonal(), mean, "PWCCA")
