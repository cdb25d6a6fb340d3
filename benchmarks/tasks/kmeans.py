"""k-means, for the information in clusters, up to the inertia that ours reaches.

Of drawn views, and of the top layer of an MLM where a study left its views in results/.
"""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from ceilings import COARSE
from synthetic import draw_view
from task import Contender, Task, Work

from bottomup.measures.mutual_information import cluster

# A peer that is not as good by then does not get better.
MOST_PASSES = 20


DRAWN = "drawn"


def points(n: int, d: int, view: str) -> np.ndarray:
    """A drawn view, or the top layer of one in a file: float32 `[n, d]`."""
    return draw_view(n, d) if view == DRAWN else np.load(view, mmap_mode="r")[-1].astype(np.float32)


def work(n: int, d: int, clusters: int, view: str = DRAWN) -> Work:
    """The distances of all points from all centers are a matrix product, 2 n d k operations. No
    method that looks at all centers does less, and each pass over the points costs this again. A
    pass may round, since the next one corrects it."""
    return Work(items=n, flop=2 * n * d * clusters, dtype=COARSE)


def inertia(view: np.ndarray, index: np.ndarray) -> float:
    """Sum of squared distances from the means of clusters; index: the cluster of each point
    `[n]`."""
    order = np.argsort(index, kind="stable")
    starts = np.flatnonzero(np.diff(index[order], prepend=-1))
    sums = np.add.reduceat(view[order], starts, axis=0, dtype=np.float64)
    counts = np.diff(starts, append=len(view))[:, None]
    return float(np.square(view, dtype=np.float64).sum() - (sums**2 / counts).sum())


def ours(n: int, d: int, clusters: int, view: str = DRAWN) -> tuple[float, float]:
    rows = points(n, d, view)
    start = time.process_time()
    index = cluster(rows, clusters, seed=1, device="cpu")
    return time.process_time() - start, inertia(rows, index)


def scikit_learn(
    n: int, d: int, clusters: int, goal: float, view: str = DRAWN
) -> tuple[float, float]:
    """As documented, whatever inertia it reaches."""
    from sklearn.cluster import MiniBatchKMeans

    rows = points(n, d, view)
    start = time.process_time()
    index = MiniBatchKMeans(clusters, random_state=1).fit(rows).labels_
    return time.process_time() - start, inertia(rows, index)


def scikit_learn_until(
    n: int, d: int, clusters: int, goal: float, view: str = DRAWN
) -> tuple[float, float]:
    """Passes in batches of our size, until the inertia of all points is at most `goal`."""
    from sklearn.cluster import MiniBatchKMeans

    rows, rng = points(n, d, view), np.random.default_rng(1)
    peer = MiniBatchKMeans(clusters, batch_size=8 * clusters, random_state=1)

    def one_pass() -> None:
        order = rng.permutation(n)
        # The first batch is the sample for the first centers.
        for start in range(0, n, 8 * clusters):
            peer.partial_fit(rows[order[start : start + 8 * clusters]])

    return until(goal, one_pass, lambda: peer.predict(rows), rows)


def faiss_until(
    n: int, d: int, clusters: int, goal: float, view: str = DRAWN
) -> tuple[float, float]:
    """Iterations over all points, each from the last centers, until as good as `goal`."""
    import faiss

    rows = points(n, d, view)
    peer = faiss.Kmeans(d, clusters, niter=1, seed=1, max_points_per_centroid=n)

    def one_pass() -> None:
        peer.train(rows, init_centroids=peer.centroids)

    return until(goal, one_pass, lambda: peer.assign(rows)[1], rows)


def until(goal: float, one_pass, assign, view: np.ndarray) -> tuple[float, float]:
    """Seconds of the passes and of assigning all points after the last one; and the inertia."""
    seconds = 0.0
    for _ in range(MOST_PASSES):
        seconds += timed(one_pass)[0]
        assigning, index = timed(assign)
        if (found := inertia(view, index)) <= goal:
            break
    return seconds + assigning, found


def timed(function) -> tuple[float, object]:
    start = time.process_time()
    found = function()
    return time.process_time() - start, found


# scikit-learn would take an hour for 10,000 clusters of a million points.
LIMITED = partial(Contender, package="sklearn", most=2 * 200_000 * 128 * 2000)
DRAWN_VIEWS = Task(
    target="at equal inertia 15 times scikit-learn, 2 times faiss",
    item="points",
    value="inertia",
    work=work,
    contenders={
        "bottomup": Contender(ours),
        "scikit-learn": LIMITED(scikit_learn),
        "scikit-learn, until as good": LIMITED(scikit_learn_until),
        "faiss, until as good": Contender(faiss_until, package="faiss"),
    },
    sizes=[
        {"n": 50_000, "d": 128, "clusters": 500},
        {"n": 200_000, "d": 128, "clusters": 2000},
        {"n": 200_000, "d": 512, "clusters": 1000},
    ],
    small=[{"n": 40 * k, "d": 64, "clusters": k} for k in (100, 200, 400)],
    largest=({"n": 1_000_000, "d": 512, "clusters": 10_000},),
    told=True,
)
TASKS = {"kmeans": DRAWN_VIEWS}
for made in sorted(Path("results").glob("*/views/mlm-1/plain.npy"))[:1]:
    _, n, d = np.load(made, mmap_mode="r").shape
    sizes, small = (
        [{"n": n, "d": d, "clusters": k, "view": str(made)} for k in numbers]
        for numbers in ((500, 1000, 2000), (20, 40, 80))
    )
    TASKS["kmeans-of-a-model"] = replace(DRAWN_VIEWS, sizes=sizes, small=small, largest=())
