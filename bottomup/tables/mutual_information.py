"""The mutual information between tokens and their representations, at each layer of one run.

Rows: for each layer and label that is asked for, estimator clusters, one for each number of
clusters, and estimator classifier, a lower bound that counts held-out occurrences only.
"""

from collections.abc import Iterator
from dataclasses import asdict

import numpy as np
import pandas as pd

from bottomup.measures import jackknife
from bottomup.measures import mutual_information as information
from bottomup.measures.classifier_bound import classifier_bound
from bottomup.measures.labels import choose
from bottomup.seeds import derive
from bottomup.settings import MutualInformation as Settings
from bottomup.tables import Seen


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    for layer, view in enumerate(seen.views):
        for label in seen.labels:
            place = {"layer": layer, "reading": seen.reading, **dict(label)}
            some, tokens = choose(
                seen.occurrences, seen.frequencies, settings.n_tokens, **dict(label)
            )
            labelled = view[some], tokens, seen.blocks[some], jackknife.n_blocks(seen.blocks)
            for n_clusters in [settings.n_clusters, *settings.other_n_clusters]:
                yield place | by_clusters(*labelled, n_clusters, settings)
            yield place | by_classifier(*labelled, settings)


def by_clusters(
    view: np.ndarray,
    tokens: np.ndarray,
    blocks: np.ndarray,
    count: int,
    n_clusters: int,
    settings: Settings,
) -> dict:
    """The columns of the estimate by clusters, a mean over clusterings."""
    seed = settings.seed
    draws = range(settings.clusterings)
    clusterings = [information.cluster(view, n_clusters, derive(seed, draw)) for draw in draws]
    values = [information.mutual_information(tokens, clusters) for clusters in clusterings]
    shuffled = [information.shuffled(tokens, clusters, seed) for clusters in clusterings]
    used = [len(np.unique(clusters)) for clusters in clusterings]
    without = np.mean(
        [information.without_blocks(tokens, some, blocks, count) for some in clusterings], axis=0
    )
    error = np.std(values, ddof=1) / len(values) ** 0.5
    low, high = jackknife.interval(np.mean(values), without, error)
    return {
        "estimator": "clusters",
        "mi_nats": np.mean(values),
        "ci_low": low,
        "ci_high": high,
        "clustering_error_nats": error,
        "shuffled_mi_nats": np.mean(shuffled),
        "entropy_nats": information.entropy(tokens),
        "n_occurrences": len(tokens),
        "n_labels": len(np.unique(tokens)),
        "n_clusters": n_clusters,
        "n_clusters_used": min(used),
        jackknife.WITHOUT: without,
    }


def by_classifier(
    view: np.ndarray, tokens: np.ndarray, blocks: np.ndarray, count: int, settings: Settings
) -> dict:
    """The columns of the bound by a classifier, which has no clusters."""
    bound = asdict(classifier_bound(view, tokens, blocks, count, settings.seed))
    no_clusters = {"n_clusters": pd.NA, "n_clusters_used": pd.NA}
    return {"estimator": "classifier", **bound, "n_labels": len(np.unique(tokens)), **no_clusters}
