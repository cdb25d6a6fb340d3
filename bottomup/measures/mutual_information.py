"""Mutual information between tokens and their representations, by clustering the representations.

The estimator of the evolution paper (Voita et al. 2019, on information with input and output): the
number of its cluster replaces each representation, and the plug-in value estimates the information
between the two discrete variables. All values are in nats.

The plug-in value is biased upwards, by about (n_labels - 1) (n_clusters - 1) / 2n if cells are
well filled (Miller 1955), and by less if most are empty. `shuffled` measures this bias on the data
themselves, as far as it does not depend on the relation between labels and clusters.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from scipy import sparse

from bottomup.core import seeds
from bottomup.core.device import device as best_device
from bottomup.core.errors import UserError
from bottomup.measures import jackknife, kmeans
from bottomup.views.values import checked, in_float32, shaped

SHUFFLES = 5
# Limits the memory that a variable of many values takes.
VALUES_AT_ONCE = 8192


def mutual_information(labels: np.ndarray, clusters: np.ndarray) -> float:
    """Plug-in mutual information of two discrete variables, in nats.

    Symmetric, and blind to renaming the values of either variable. The estimate is biased
    upwards, see the module; `shuffled` says by how much.

    Parameters
    ----------
    labels, clusters : ndarray of shape (n,)
        The values of the two variables, observation by observation. Any values that can be
        sorted.

    Returns
    -------
    float
        In nats, from 0 (independent) to the smaller of the two entropies.

    Raises
    ------
    ValueError
        If the lengths differ, or are 0.

    Examples
    --------
    >>> import numpy as np
    >>> tokens = np.array(["a", "a", "the", "the"])
    >>> round(mutual_information(tokens, np.array([0, 0, 1, 1])), 4)  # ln 2: all is known
    0.6931
    >>> mutual_information(tokens, np.array([0, 1, 0, 1]))  # nothing is
    0.0
    """
    joint = entropy(_pairs(labels, clusters))
    # Rounding can leave -1e-15 where labels and clusters are independent.
    return max(0.0, entropy(labels) + entropy(clusters) - joint)


def entropy(labels: np.ndarray) -> float:
    """Plug-in entropy of a discrete variable, in nats.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Any values that can be sorted.

    Returns
    -------
    float
        In nats, from 0 to the logarithm of the number of different values.

    Examples
    --------
    >>> import numpy as np
    >>> round(entropy(np.array(["a", "b", "c", "d"])), 4)  # ln 4
    1.3863
    """
    _, counts = np.unique(labels, return_counts=True)
    return float(np.log(counts.sum()) - counts @ np.log(counts) / counts.sum())


def shuffled(labels: np.ndarray, clusters: np.ndarray, seed: int) -> float:
    """Mutual information with permuted labels: what the estimator finds where there is nothing.

    Parameters
    ----------
    labels, clusters : ndarray of shape (n,)
        As in `mutual_information`.
    seed : int
        Seed of the permutations.

    Returns
    -------
    float
        In nats, the mean of `SHUFFLES` (5) permutations of the labels. The true value is 0, so
        this is the bias for labels and clusters of these frequencies.

    Raises
    ------
    ValueError
        If the lengths differ, or are 0.

    Examples
    --------
    >>> import numpy as np
    >>> tokens = np.arange(1000) % 10
    >>> shuffled(tokens, tokens, seed=1) < 0.06  # of ln 10 = 2.30 nats
    True
    """
    generator = seeds.generator(seed, "shuffled labels")
    # A permutation changes only the joint counts, so both entropies are computed once. To permute
    # numbers is the same as to permute labels.
    labels, clusters, n = _numbered(labels, clusters)
    alone = entropy(labels) + entropy(clusters)
    joint = [entropy(generator.permutation(labels) * n + clusters) for _ in range(SHUFFLES)]
    return float(np.maximum(alone - np.array(joint), 0).mean())


def without_blocks(
    labels: np.ndarray, clusters: np.ndarray, blocks: np.ndarray, count: int
) -> np.ndarray:
    """Mutual information without each block of documents `[count]`, in nats.

    blocks: as in `jackknife.sums_without`. Clusters stay as they are, so the spread comes from the
    text and not from k-means.
    """
    of_labels, of_clusters, joint = (
        entropies_without(values, blocks, count)
        for values in (labels, clusters, _pairs(labels, clusters))
    )
    return of_labels + of_clusters - joint


def entropies_without(values: np.ndarray, blocks: np.ndarray, count: int) -> np.ndarray:
    """Plug-in entropy of a discrete variable without each block `[count]`, in nats.

    values: `[n]`, of any kind that can be sorted; blocks: as in `jackknife.sums_without`.
    """
    _, numbers = np.unique(values, return_inverse=True)
    rows, pair_blocks = jackknife.once_each(blocks)
    cells = (np.ones(len(rows), dtype=np.int64), (numbers[rows], pair_blocks))
    by_block = sparse.csr_array(cells, shape=(numbers.max() + 1, count))
    of_values, total = np.bincount(numbers)[:, None], np.zeros(count)
    for start in range(0, by_block.shape[0], VALUES_AT_ONCE):
        some = slice(start, start + VALUES_AT_ONCE)
        n = of_values[some] - by_block[some].toarray()  # [n_values, count]
        total += (n * np.log(np.maximum(n, 1))).sum(0)
    sizes = len(numbers) - np.bincount(pair_blocks, minlength=count)
    sizes = np.where(sizes > 0, sizes, np.nan)  # without all of them there is no entropy
    return np.log(sizes) - total / sizes


def cluster(
    view: np.ndarray, n_clusters: int, seed: int, device: torch.device | str | None = None
) -> np.ndarray:
    """The k-means cluster of each representation.

    Mini-batch k-means without restarts, on centered float32 points, or float64 where these do not
    tell the nearest clusters; clusters may stay empty.

    Parameters
    ----------
    view : ndarray of shape (n_occurrences, d_model)
        Representations at one layer. In memory is a copy of them in float32, or float64.
    n_clusters : int
        Clusters to look for; at most `n_occurrences`.
    seed : int
        Seed of the first centers and of the batches.
    device : torch.device or str, optional
        Where to compute; by default the first GPU, else the CPU.

    Returns
    -------
    ndarray of shape (n_occurrences,), int64
        The number of each representation's cluster, 0 to `n_clusters - 1`.

    Raises
    ------
    UserError
        If there are more clusters than occurrences, or the view holds NaN or infinity.

    Examples
    --------
    >>> import numpy as np
    >>> view = np.array([[0.0, 0.1], [0.1, 0.0], [5.0, 5.1], [5.1, 5.0]])
    >>> clusters = cluster(view, n_clusters=2, seed=1, device="cpu")
    >>> bool(clusters[0] == clusters[1] != clusters[2] == clusters[3])
    True
    """
    view = _enough(view, n_clusters)
    device = torch.device(device or best_device())
    points = torch.from_numpy(in_float32(checked(view, "k-means"))).to(device)
    points -= points.mean(0)
    points = kmeans.resolved(points, n_clusters, seeds.generator(seed, "precision"))
    centers = kmeans.fit(points, n_clusters, seeds.generator(seed, "clusters"))
    index, _ = kmeans.nearest(points, centers)
    return index.cpu().numpy()


def cluster_by_scikit_learn(view: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """The cluster of each representation `[n]` by scikit-learn's MiniBatchKMeans.

    The evolution paper used it; what the paper does not state is as scikit-learn has it: clusters
    that run almost empty are moved, and the passes end where batches no longer come nearer to their
    centers. Arguments and errors as in `cluster`; on the CPU.
    """
    from sklearn.cluster import MiniBatchKMeans

    points = torch.from_numpy(in_float32(checked(_enough(view, n_clusters), "k-means")))
    points = kmeans.resolved(points, n_clusters, seeds.generator(seed, "precision"))
    # Its seeds have 32 bits.
    return MiniBatchKMeans(n_clusters, random_state=seed % 2**32).fit(points.numpy()).labels_


def _enough(view: np.ndarray, n_clusters: int) -> np.ndarray:
    """The view, if it has as many occurrences as clusters are asked for."""
    view = shaped(view)
    if n_clusters < 1:
        raise UserError(f"n_clusters: found {n_clusters}; allowed: at least 1")
    if n_clusters > len(view):
        raise UserError(
            f"found {len(view)} occurrences for n_clusters {n_clusters}; allowed: no more "
            f"clusters than occurrences; lower the n_clusters of its table, or raise "
            f"corpus.splits.test_words and occurrences.n"
        )
    return view


def possible(labels: np.ndarray, n_clusters: float = np.inf) -> jackknife.Range:
    """What information about labels can be on any text: up to that of equally frequent ones, or of
    equally frequent clusters if these are fewer.

    The entropy of these labels would be no upper end: it differs on other text, and with it the
    information of a view that tells every label.
    """
    return jackknife.Range(0, np.log(min(len(np.unique(labels)), n_clusters)))


def _pairs(labels: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """A number for each pair of values `[n]`; equal pairs have equal numbers."""
    labels, clusters, n = _numbered(labels, clusters)
    return labels * n + clusters


def _numbered(labels: np.ndarray, clusters: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Both with their values numbered from 0, `[n]`, and how many values the clusters have."""
    shapes = np.shape(labels), np.shape(clusters)
    if shapes[0] != shapes[1] or len(shapes[0]) != 1 or not shapes[0][0]:
        raise ValueError(
            f"{np.size(labels)} labels and {np.size(clusters)} clusters of shapes {shapes[0]} and "
            f"{shapes[1]}; allowed: [n] both, n at least 1"
        )
    _, labels = np.unique(labels, return_inverse=True)
    distinct, clusters = np.unique(clusters, return_inverse=True)
    return labels, clusters, len(distinct)


def by_clusters(
    views: Iterable[np.ndarray],
    tokens: np.ndarray,
    blocks: np.ndarray,
    count: int,
    n_clusters: int,
    clusterings: int,
    seed: int,
    estimator: str = "clusters",
) -> Iterator[dict]:
    """A row of the table for each view: means over clusterings from different first centers.

    views: each `[n, d_model]`; tokens, blocks: `[n]`; count: the number of blocks. estimator: one
    of `clusters`, `scikit-learn`.

    The few clusterings of one view may agree by chance, so their variance is pooled over the views:
    the error of the means is the same for all.
    """
    clustering = cluster_by_scikit_learn if estimator == "scikit-learn" else cluster
    by_view = [
        [clustering(view, n_clusters, seeds.derive(seed, draw)) for draw in range(clusterings)]
        for view in views
    ]
    values = np.array([[mutual_information(tokens, some) for some in each] for each in by_view])
    error = np.sqrt(values.var(axis=1, ddof=1).mean() / clusterings)
    within = possible(tokens, n_clusters)
    for each, value in zip(by_view, values.mean(axis=1), strict=True):
        without = np.mean([without_blocks(tokens, some, blocks, count) for some in each], axis=0)
        low, high = jackknife.interval(value, without, within, noise=error)
        yield {
            "estimator": estimator,
            "mi_nats": value,
            "ci_low": low,
            "ci_high": high,
            "clustering_error_nats": error,
            "shuffled_mi_nats": np.mean([shuffled(tokens, some, seed) for some in each]),
            "entropy_nats": entropy(tokens),
            "n_occurrences": len(tokens),
            "n_labels": len(np.unique(tokens)),
            "n_clusters": n_clusters,
            "n_clusters_used": min(len(np.unique(some)) for some in each),
            jackknife.WITHOUT: without,
        }
