"""Mini-batch k-means: against brute force, scikit-learn, and clusters that are known."""

import numpy as np
import pytest
import torch
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score

from bottomup.core.errors import UserError
from bottomup.measures import kmeans
from bottomup.measures.mutual_information import cluster, cluster_by_scikit_learn


def blobs(n, n_blobs, d=8, spread=0.05, seed=0):
    """Points `[n, d]` in well separated blobs, and the blob of each `[n]`."""
    generator = np.random.default_rng(seed)
    means = generator.normal(size=(n_blobs, d)) * 3
    index = generator.integers(n_blobs, size=n)
    return (means[index] + spread * generator.normal(size=(n, d))).astype(np.float32), index


def inertia(points, index):
    """Sum of squared distances from the means of the clusters."""
    total = 0.0
    for i in np.unique(index):
        total += np.square(points[index == i] - points[index == i].mean(0)).sum()
    return total


@pytest.mark.parametrize("block_rows", [1, 7, 1024])
def test_nearest_is_the_brute_force_answer(monkeypatch, block_rows):
    monkeypatch.setattr(kmeans, "BLOCK_ROWS", block_rows)
    generator = np.random.default_rng(0)
    points, centers = generator.normal(size=(50, 4)), generator.normal(size=(9, 4))
    squares = np.square(points[:, None] - centers).sum(-1)
    index, distances = kmeans.nearest(*(torch.from_numpy(v).float() for v in (points, centers)))
    assert index.tolist() == squares.argmin(1).tolist()
    np.testing.assert_allclose(distances, squares.min(1), rtol=1e-4)


def test_of_equally_near_centers_the_first_is_taken():
    index, _ = kmeans.nearest(torch.ones(3, 2), torch.zeros(4, 2))
    assert index.tolist() == [0, 0, 0]


def test_separate_blobs_are_found():
    points, blob = blobs(3000, 10)
    # With fewer clusters than blobs none could be whole; with a few more, none is shared.
    found = cluster(points, 30, seed=1)
    assert all(len(np.unique(blob[found == i])) == 1 for i in np.unique(found))


def test_scikit_learn_s_clusters_are_those_of_the_library():
    points, _ = blobs(3000, 10)
    theirs = MiniBatchKMeans(30, random_state=7).fit_predict(points)
    for seed in (7, 7 + 2**40):
        np.testing.assert_array_equal(cluster_by_scikit_learn(points, 30, seed), theirs)
    with pytest.raises(UserError, match="found 3000 occurrences"):
        cluster_by_scikit_learn(points, 3001, seed=7)
    points[5, 0] = np.nan
    with pytest.raises(UserError):
        cluster_by_scikit_learn(points, 30, seed=7)


def test_inertia_is_no_worse_than_scikit_learn():
    generator = np.random.default_rng(0)
    points = generator.normal(size=(20_000, 16)).astype(np.float32)
    points *= np.geomspace(3, 0.3, 16, dtype=np.float32)
    theirs = [
        inertia(
            points,
            MiniBatchKMeans(100, reassignment_ratio=0, random_state=seed).fit_predict(points),
        )
        for seed in range(3)
    ]
    ours = [inertia(points, cluster(points, 100, seed)) for seed in range(3)]
    assert np.mean(ours) < 1.02 * np.mean(theirs)


@pytest.mark.parametrize("outlier", [1, 1000])
def test_bfloat16_costs_no_inertia(monkeypatch, outlier):
    # Where one neuron is a thousand times as wide, 8 bits of it are wider than all others.
    monkeypatch.setattr(kmeans, "multiplies_bfloat16", lambda device: True)
    points = np.random.default_rng(0).normal(size=(10_000, 32)).astype(np.float32)
    points[:, 0] *= outlier
    found = inertia(points, cluster(points, 200, seed=1))
    monkeypatch.setattr(kmeans, "COARSE", -1)  # never good enough
    assert found < 1.003 * inertia(points, cluster(points, 200, seed=1))


def test_a_seed_gives_the_same_clusters_and_another_seed_others():
    points, _ = blobs(2000, 50, spread=1)
    same = [cluster(points, 40, seed=1) for _ in range(2)]
    assert (same[0] == same[1]).all()
    assert adjusted_rand_score(same[0], cluster(points, 40, seed=2)) < 0.99


def test_a_large_mean_costs_no_precision():
    points, blob = blobs(1000, 8)
    # About a mean of 1,000 float32 norms are off by about 1, far more than these distances.
    found = cluster(0.03 * points + 1000, 30, seed=1)
    assert all(len(np.unique(blob[found == i])) == 1 for i in np.unique(found))


@pytest.mark.parametrize("size", [1e3, 3e4, 1e6])
@pytest.mark.parametrize("clustering", [cluster, cluster_by_scikit_learn])
def test_a_dominating_neuron_of_both_signs_hides_no_blobs(clustering, size):
    points, blob = blobs(3000, 10)
    sign = np.random.default_rng(1).choice([-1, 1], len(points))
    found = clustering(np.column_stack([points, size * sign]).astype(np.float32), 60, seed=1)
    cell = blob + 10 * (sign > 0)
    assert all(len(np.unique(cell[found == i])) == 1 for i in np.unique(found))
    assert len(np.unique(found)) >= 55


def test_only_points_that_float32_does_not_resolve_are_in_float64():
    points = torch.from_numpy(blobs(1000, 10, spread=1)[0])
    assert kmeans.resolved(points, 50, np.random.default_rng(0)) is points
    points[:, 0] = 1e5 * (-1) ** torch.arange(1000)
    assert kmeans.resolved(points, 50, np.random.default_rng(0)).dtype == torch.float64


def test_float16_views_are_clustered_in_float32():
    points = blobs(1000, 8, spread=1)[0].astype(np.float16)
    assert (cluster(points, 30, seed=1) == cluster(points.astype(np.float32), 30, seed=1)).all()


def test_fewer_distinct_points_than_clusters_leave_clusters_empty():
    points = np.repeat(np.random.default_rng(0).normal(size=(5, 7)), 20, axis=0)
    found = cluster(points, 12, seed=1)
    assert adjusted_rand_score(found, np.repeat(np.arange(5), 20)) == 1
    assert len(np.unique(found)) == 5 and found.max() < 12
    first = kmeans.first_centers(torch.from_numpy(points), 12, np.random.default_rng(0))
    assert len(first) == 5


def test_one_center_is_the_mean():
    points = torch.from_numpy(np.random.default_rng(0).normal(size=(100, 3))).float()
    center = kmeans.fit(points, 1, np.random.default_rng(0))
    np.testing.assert_allclose(center, points.mean(0, keepdim=True), atol=1e-6)


def test_as_many_clusters_as_points_part_all_points():
    points = np.random.default_rng(0).normal(size=(50, 3))
    assert len(np.unique(cluster(points, 50, seed=1))) == 50


def test_more_clusters_than_occurrences_are_refused():
    points, _ = blobs(99, 3)
    with pytest.raises(UserError, match=r"99 occurrences for n_clusters 100;"):
        cluster(points, 100, seed=1)


def test_a_view_that_is_not_finite_is_refused():
    points, _ = blobs(99, 3)
    points[5, 1] = np.inf
    with pytest.raises(UserError, match="NaN or infinity"):
        cluster(points, 10, seed=1)


@pytest.mark.parametrize(
    ("fast", "outlier", "dtype"),
    [
        (True, 1, torch.bfloat16),
        (True, 1000, torch.float32),
        (False, 1, torch.float32),
    ],
)
def test_products_are_bfloat16_where_that_is_faster_and_as_good(monkeypatch, fast, outlier, dtype):
    monkeypatch.setattr(kmeans, "multiplies_bfloat16", lambda device: fast)
    points = torch.from_numpy(np.random.default_rng(0).normal(size=(2000, 32))).float()
    points[:, 0] *= outlier
    assert kmeans.dtype_of_products(points[:1000], points[1000:1100]) == dtype


def test_nearest_in_bfloat16_multiplies_in_it():
    # 1 and 1 + 2^-9 are one number with 8 bits.
    centers = torch.tensor([[1.0], [1 + 2**-9]])
    found = [
        kmeans.nearest(torch.ones(1, 1) * 2, centers, dtype)[1].item()
        for dtype in (torch.float32, torch.bfloat16)
    ]
    assert found[0] == pytest.approx((1 - 2**-9) ** 2, rel=1e-5) != found[1]
