"""PWCCA from streamed moments against the textbook way, QR and SVD of the whole views.

OMP_NUM_THREADS=1 python benchmarks/pwcca.py LAYER_A.npy LAYER_B.npy
"""

import argparse
import time
from functools import partial

import numpy as np
import torch
from side_by_side import compare, machine

from bottomup.measures.pwcca import pwcca_distance


def ours(x: str, y: str) -> tuple[float, float]:
    start = time.perf_counter()
    distance = pwcca_distance(np.load(x, mmap_mode="r"), np.load(y, mmap_mode="r"))
    return time.perf_counter() - start, distance


def textbook(x: str, y: str) -> tuple[float, float]:
    """Björck and Golub 1973 for the correlations, Morcos et al. 2018 for the weights."""
    start = time.perf_counter()
    a, b = (np.load(path).astype(np.float64) for path in (x, y))
    a -= a.mean(0)
    b -= b.mean(0)
    q_a, q_b = np.linalg.qr(a)[0], np.linalg.qr(b)[0]
    u, correlations, _ = np.linalg.svd(q_a.T @ q_b)
    weights = np.abs((q_a @ u).T @ a).sum(1)[: len(correlations)]
    distance = 1 - weights @ correlations / weights.sum()
    return time.perf_counter() - start, distance


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("x", help="[n_occurrences, d_model], as extracted by the workflow")
    parser.add_argument("y", help="the same of another run or layer")
    arguments = parser.parse_args()
    shapes = [np.load(path, mmap_mode="r").shape for path in (arguments.x, arguments.y)]
    print(f"{shapes[0]} and {shapes[1]}. ", end="")
    print(machine(torch.get_num_threads(), "torch", "numpy"), end="\n\n")
    views = {"x": arguments.x, "y": arguments.y}
    compare(
        {"bottomup": partial(ours, **views), "numpy, QR and SVD": partial(textbook, **views)},
        "distance",
    )
