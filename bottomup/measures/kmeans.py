"""Mini-batch k-means (Sculley 2010, "Web-scale k-means clustering"), seeded, on CPU or GPU.

Written for many clusters and points (10,000 x 512 on a million): all heavy work is matrix
products. It differs from scikit-learn's MiniBatchKMeans in that batches grow with the number of
clusters, the number of passes is fixed, and clusters that run empty stay so, to be reported.
"""

import numpy as np
import torch
from torch import Tensor

from bottomup.core.precision import multiplies_bfloat16

# Points per cluster: in the sample that the first centers come from, and in a mini-batch.
SAMPLE_POINTS = 10
BATCH_POINTS = 8
# The first centers are drawn in about this many rounds.
ROUNDS = 20
PASSES = 4
# A block of distances stays in a core's cache for 1,000 clusters.
BLOCK_ROWS = 1024
# Squared distances may grow by this share where a coarser number format chooses the centers.
COARSE = 1e-4


def fit(points: Tensor, n_clusters: int, generator: np.random.Generator) -> Tensor:
    """Cluster centers `[<= n_clusters, d]`, after `PASSES` passes in mini-batches over the points.

    points: `[n, d]` as from `resolved`, their mean near 0 for the precision of the distances. There
    are fewer centers than asked only where there are fewer distinct points.

    Each point moves its nearest center towards it by 1 / (points this center has seen): the
    center is the mean of all points that it was ever nearest to.
    """
    centers = first_centers(points, n_clusters, generator)
    # In float64, so that a GPU's order of additions does not show in the centers.
    sums = torch.zeros_like(centers, dtype=torch.float64)
    counts = sums.new_zeros(len(centers), 1)
    dtype = dtype_of_products(points[: BATCH_POINTS * n_clusters], centers)
    for _ in range(PASSES):
        order = torch.from_numpy(generator.permutation(len(points))).to(points.device)
        for batch in order.split(BATCH_POINTS * n_clusters):
            rows = points[batch]
            index, _ = nearest(rows, centers, dtype)
            sums.index_add_(0, index, rows.double())
            counts += torch.bincount(index, minlength=len(centers))[:, None]
            centers = torch.where(counts > 0, sums / counts, centers.double()).to(points.dtype)
    return centers


def resolved(points: Tensor, n_clusters: int, generator: np.random.Generator) -> Tensor:
    """The points `[n, d]`, in float64 where float32 does not find the nearest of `n_clusters`: as
    where one neuron is ten thousand times as large as the others, and of both signs."""
    n_centers = min(n_clusters, -(-len(points) // 2))
    some = points[_draw(len(points), min(len(points), n_centers + BLOCK_ROWS), generator)].double()
    fine = _as_near(some[n_centers:], some[:n_centers], points.dtype)
    return points if fine else points.double()


def dtype_of_products(points: Tensor, centers: Tensor) -> torch.dtype:
    """bfloat16 where that is faster and finds centers for `points` about as near as the nearest.

    It does where distances are made of many neurons; not where one neuron's variance, as some
    pretrained models have it, is a thousand times that of the others. A pass of k-means corrects
    what the one before rounded.
    """
    fast = multiplies_bfloat16(points.device) and _as_near(points, centers, torch.bfloat16)
    return torch.bfloat16 if fast else points.dtype


def _as_near(points: Tensor, centers: Tensor, dtype: torch.dtype) -> bool:
    """Whether products in `dtype` find centers about as near as those in the points' own."""
    indices = [nearest(points, centers, some)[0] for some in (points.dtype, dtype)]
    squares = [(points - centers[index]).square().sum().item() for index in indices]
    return squares[1] <= (1 + COARSE) * squares[0]


def first_centers(points: Tensor, n_clusters: int, generator: np.random.Generator) -> Tensor:
    """Distinct points `[<= n_clusters, d]`, drawn far from each other from a sample.

    As in k-means++ (Arthur and Vassilvitskii 2007), a point is drawn with probability in
    proportion to its squared distance from the centers so far; as in k-means|| (Bahmani et al.
    2012), many in a round, so that the distances are matrix products and not `n_clusters` passes.
    """
    n_sample = min(len(points), SAMPLE_POINTS * n_clusters)
    sample = points[_draw(len(points), n_sample, generator)]
    # Below the resolution of these distances, a point is one of the centers.
    apart = 8 * torch.finfo(points.dtype).eps * sample.square().sum(1)
    distances = torch.full_like(apart, torch.inf)
    centers = new = sample[_draw(n_sample, 1, generator)]
    while len(centers) < n_clusters:
        distances = torch.minimum(distances, nearest(sample, new)[1])
        chances = torch.where(distances > apart, distances, 0).double().cpu().numpy()
        n_apart = int(np.count_nonzero(chances))
        n_new = min(n_apart, len(centers), -(-n_clusters // ROUNDS), n_clusters - len(centers))
        if not n_new:
            break
        new = sample[_draw(n_sample, n_new, generator, chances / chances.sum())]
        centers = torch.cat([centers, new])
    return centers


def nearest(
    points: Tensor, centers: Tensor, dtype: torch.dtype | None = None
) -> tuple[Tensor, Tensor]:
    """Index `[n]` of each point's nearest center, the first of equals, and the squared distance.

    points: `[n, d]`; centers: `[n_centers, d]`; computed in blocks of points. dtype: of both when
    they are multiplied, and of the products, so that near centers may tie; by default the points'.
    """
    dtype = dtype or points.dtype
    sums = torch.promote_types(dtype, torch.float32)
    half_norms, columns = centers.to(sums).square().sum(1) / 2, -centers.T.to(dtype)
    indices, distances = [], []
    for block in points.split(BLOCK_ROWS):
        halves, index = _smallest((block.to(dtype) @ columns).to(sums).add_(half_norms))
        indices.append(index)
        distances.append((2 * halves + block.to(sums).square().sum(1)).clamp_min(0))
    return torch.cat(indices), torch.cat(distances)


def _smallest(lines: Tensor) -> tuple[Tensor, Tensor]:
    """The smallest value of each line and its index, the first of equals: `[n]`."""
    if lines.device.type != "cpu":
        return lines.min(dim=1)
    # PyTorch's search, element by element on a CPU, takes a third of the time of the products.
    index = torch.from_numpy(lines.numpy().argmin(1))
    return lines.gather(1, index[:, None])[:, 0], index


def _draw(
    n: int, size: int, generator: np.random.Generator, chances: np.ndarray | None = None
) -> Tensor:
    return torch.from_numpy(generator.choice(n, size, replace=False, p=chances))
