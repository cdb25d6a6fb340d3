"""Mini-batch k-means against scikit-learn's: seconds, and the inertia that they reach.

OMP_NUM_THREADS=1 python benchmarks/kmeans.py VIEW.npy --clusters 1000
"""

import argparse
import time
from functools import partial

import numpy as np
import torch
from side_by_side import compare, machine
from sklearn.cluster import MiniBatchKMeans

from bottomup.measures.mutual_information import cluster


def inertia(view: np.ndarray, clusters: np.ndarray) -> float:
    """Sum of squared distances from the clusters' means."""
    sums = np.zeros((clusters.max() + 1, view.shape[1]))
    np.add.at(sums, clusters, view)
    counts = np.bincount(clusters).clip(1)
    return float(np.square(view, dtype=np.float64).sum() - (np.square(sums).sum(1) / counts).sum())


def ours(path: str, n_clusters: int) -> tuple[float, float]:
    view = np.load(path).astype(np.float32)
    start = time.perf_counter()
    clusters = cluster(view, n_clusters, seed=1, device="cpu")
    return time.perf_counter() - start, inertia(view, clusters)


def scikit_learn(path: str, n_clusters: int, **options) -> tuple[float, float]:
    view = np.load(path).astype(np.float32)
    start = time.perf_counter()
    peer = MiniBatchKMeans(n_clusters, reassignment_ratio=0, random_state=1, **options)
    clusters = peer.fit(view).predict(view)
    return time.perf_counter() - start, inertia(view, clusters)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("view", help="[n_occurrences, d_model], as extracted by the workflow")
    parser.add_argument("--clusters", type=int, default=1000)
    arguments = parser.parse_args()
    n, d = np.load(arguments.view, mmap_mode="r").shape
    print(f"{n} x {d}, {arguments.clusters} clusters. ", end="")
    print(machine(torch.get_num_threads(), "torch", "scikit-learn", "numpy"), end="\n\n")
    here = {"path": arguments.view, "n_clusters": arguments.clusters}
    # The batch that ours takes, then the default.
    large = {"batch_size": 8 * arguments.clusters}
    compare(
        {
            "bottomup": partial(ours, **here),
            "scikit-learn, batches as large": partial(scikit_learn, **here, **large),
            "scikit-learn": partial(scikit_learn, **here),
        },
        "inertia",
    )
