"""PWCCA of two views, from moments of blocks of rows, against whole views."""

import time
from collections.abc import Iterator

import numpy as np
from task import Contender, Task, Work

from bottomup.measures.pwcca import pwcca_from_moments
from bottomup.views.moments import Moments

BLOCK_ROWS = 2000


def work(n: int, d: int) -> Work:
    """The covariances of two views, two of them symmetric: 4 n d^2 operations in float64.

    All further steps are on d x d matrices and do not grow with the rows.
    """
    return Work(items=n, flop=4 * n * d**2, dtype="float64")


def blocks(n: int, d: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Two related views in blocks of rows, float32 `[BLOCK_ROWS, d]` each; blocks are not kept.

    Both are the same signal plus their own noise, and their neurons have means and scales.
    """
    rng = np.random.default_rng(1)
    shape = (3, BLOCK_ROWS, d)
    scales = rng.lognormal(size=(2, 1, d)).astype(np.float32)
    for _ in range(n // BLOCK_ROWS):
        signal, *noise = rng.standard_normal(shape, dtype=np.float32)
        x, y = ((signal + part + 1) * scale for part, scale in zip(noise, scales, strict=True))
        yield x, y


def streamed(n: int, d: int, variant: str) -> tuple[float, float]:
    moments, seconds = Moments(d, d), 0.0
    for x, y in blocks(n, d):
        start = time.process_time()
        moments.update(x, y)
        seconds += time.process_time() - start
    start = time.process_time()
    distance = pwcca_from_moments(moments, variant=variant)
    return seconds + time.process_time() - start, distance


def ours(n: int, d: int) -> tuple[float, float]:
    return streamed(n, d, "definition")


def ours_as_svcca(n: int, d: int) -> tuple[float, float]:
    return streamed(n, d, "svcca-2019")


def whole(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Both views, float64 `[n, d]`."""
    views = np.empty((2, n, d))
    for number, pair in enumerate(blocks(n, d)):
        views[:, number * BLOCK_ROWS : (number + 1) * BLOCK_ROWS] = pair
    return views[0], views[1]


def qr_and_svd(n: int, d: int) -> tuple[float, float]:
    """Björck and Golub 1973 for the correlations, Morcos et al. 2018 for the weights."""
    a, b = whole(n, d)
    start = time.process_time()
    a -= a.mean(0)
    b -= b.mean(0)
    q_a, q_b = np.linalg.qr(a)[0], np.linalg.qr(b)[0]
    u, correlations, _ = np.linalg.svd(q_a.T @ q_b)
    weights = np.abs((q_a @ u).T @ a).sum(1)
    distance = 1 - weights @ correlations / weights.sum()
    return time.process_time() - start, distance


def svcca(n: int, d: int) -> tuple[float, float]:
    """The steps of google/svcca (cca_core.py, pwcca.py) for views of one width without directions
    to cut off. Views are `[d, n]` there, and it goes through n rows four times."""
    acts_x, acts_y = (np.ascontiguousarray(view.T) for view in whole(n, d))
    start = time.process_time()
    covariance = np.cov(acts_x, acts_y)
    xx, xy, yy = covariance[:d, :d], covariance[:d, d:], covariance[d:, d:]
    x_max, y_max = np.abs(xx).max(), np.abs(yy).max()
    xx, yy, xy = xx / x_max, yy / y_max, xy / np.sqrt(x_max * y_max)
    root_x, root_y = (square_root(np.linalg.pinv(matrix)) for matrix in (xx, yy))
    u, correlations, _ = np.linalg.svd(root_x @ xy @ root_y)
    means = acts_x.mean(1, keepdims=True)
    directions = u.T @ (acts_x - means) + means
    p, _ = np.linalg.qr(directions.T)
    weights = np.abs(p.T @ acts_x.T).sum(1)
    distance = 1 - weights @ correlations / weights.sum()
    return time.process_time() - start, distance


def square_root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.sqrt(np.abs(values)) @ vectors.T


# More rows take minutes a turn, and soon more than 8 GiB.
MOST = 4 * 80_000 * 512**2
TASKS = {
    "pwcca": Task(
        target="20 times; memory independent of rows",
        item="rows",
        value="distance",
        work=work,
        contenders={
            "bottomup": Contender(ours),
            "bottomup, svcca-2019": Contender(ours_as_svcca),
            "numpy, QR and SVD": Contender(qr_and_svd, most=MOST),
            "svcca's steps": Contender(svcca, most=MOST),
        },
        sizes=[{"n": n, "d": 512} for n in (20_000, 40_000, 80_000)],
        small=[{"n": n, "d": 64} for n in (4000, 8000, 16_000)],
        largest=({"n": 1_000_000, "d": 512},),
    )
}
