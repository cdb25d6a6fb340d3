"""The 50 nearest rows of each of some rows, by Euclidean distance."""

import time

import numpy as np
from synthetic import draw_view
from task import Contender, Task, Work

from bottomup.measures.neighbors import nearest

K = 50
CHECKED = 50


def work(n: int, d: int, queries: int) -> Work:
    """A distance of each query from each row is 2 n d q operations; choosing among them reads them
    once, from a cache."""
    return Work(items=queries, flop=2 * n * d * queries)


def drawn(n: int, d: int, queries: int) -> tuple[np.ndarray, np.ndarray]:
    """A view, and the numbers of the query rows."""
    return draw_view(n, d), np.random.default_rng(2).choice(n, queries, replace=False)


def recall(view: np.ndarray, rows: np.ndarray, found: np.ndarray) -> float:
    """The share of the true neighbors (in float64) that were found, for the first rows.

    found: row numbers, `[queries, K]`.
    """
    shares = []
    for row, neighbors in zip(rows[:CHECKED], found, strict=False):
        distances = np.square(view - view[row], dtype=np.float64).sum(1)
        distances[row] = np.inf
        shares.append(np.isin(np.argpartition(distances, K)[:K], neighbors).mean())
    return float(np.mean(shares))


def ours(n: int, d: int, queries: int) -> tuple[float, float]:
    view, rows = drawn(n, d, queries)
    start = time.process_time()
    found = nearest(view, K, device="cpu", metric="euclidean", queries=rows)
    return time.process_time() - start, recall(view, rows, found)


def scikit_learn(n: int, d: int, queries: int) -> tuple[float, float]:
    from sklearn.neighbors import NearestNeighbors

    view, rows = drawn(n, d, queries)
    start = time.process_time()
    peer = NearestNeighbors(n_neighbors=K + 1, algorithm="brute").fit(view)
    found = without_itself(peer.kneighbors(view[rows], return_distance=False), rows)
    return time.process_time() - start, recall(view, rows, found)


def faiss_flat(n: int, d: int, queries: int) -> tuple[float, float]:
    import faiss

    view, rows = drawn(n, d, queries)
    start = time.process_time()
    index = faiss.IndexFlatL2(d)
    index.add(view)
    found = without_itself(index.search(view[rows], K + 1)[1], rows)
    return time.process_time() - start, recall(view, rows, found)


def without_itself(found: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """`[queries, K]` out of `[queries, K + 1]`: without the row itself, or else the last one."""
    order = np.argsort(found == rows[:, None], axis=1, kind="stable")[:, :K]
    return np.take_along_axis(found, order, axis=1)


TASKS = {
    "neighbors": Task(
        target="not slower than faiss",
        item="queries",
        value="recall",
        work=work,
        contenders={
            "bottomup": Contender(ours),
            "scikit-learn": Contender(scikit_learn, package="sklearn"),
            "faiss, flat": Contender(faiss_flat, package="faiss"),
        },
        # A twentieth of the queries: all would just take twenty times as long.
        sizes=[{"n": n, "d": 512, "queries": 5000} for n in (25_000, 50_000, 100_000)],
        small=[{"n": n, "d": 64, "queries": 500} for n in (2500, 5000, 10_000)],
    )
}
