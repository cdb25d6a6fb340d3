"""The mutual information between tokens and their representations, at each layer of one run.

Rows: for each layer and wanted label, one of the estimator clusters for each number of clusters, if
wanted one of the estimator scikit-learn, and one of the estimator classifier, a lower bound on
held-out occurrences only.
"""

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from bottomup.settings import Section, Seed, key, unique
from bottomup.tables import Seen, Table

TABLE = Table("reading", reads=("frequencies",))

Clusters = Annotated[int, Field(ge=2, le=10**6)]


class Settings(Section):
    """Information that a layer has about a token, in nats."""

    n_tokens: int = key("number of most frequent tokens to use", "tokens", ge=2, le=100_000)
    n_clusters: Clusters = key("clusters of their representations; at most occurrences.n")
    other_n_clusters: Annotated[list[Clusters], AfterValidator(unique)] = key(
        "other numbers of clusters, to see what depends on them"
    )
    clusterings: int = key(
        "runs of k-means from different first centers, averaged; the interval has their spread",
        "runs",
        ge=2,
        le=100,
    )
    scikit_learn: bool = key(
        "cluster also by scikit-learn's MiniBatchKMeans, as the paper does, on the CPU: twice as "
        "slow for 1,000 clusters, hours for 10,000 of a million occurrences"
    )
    seed: Seed = key("seed of clusters, shuffles and the halves for the classifier")


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.measures import jackknife
    from bottomup.measures.classifier_bound import by_classifier
    from bottomup.measures.labels import choose
    from bottomup.measures.mutual_information import by_clusters

    for label in map(dict, seen.labels):
        some, tokens = choose(seen.occurrences, seen.frequencies, settings.n_tokens, **label)
        of_tokens = tokens, seen.blocks[some], jackknife.n_blocks(seen.blocks)
        place = {"reading": seen.reading, **label}
        ways = [(n, "clusters") for n in (settings.n_clusters, *settings.other_n_clusters)]
        if settings.scikit_learn:
            ways.append((settings.n_clusters, "scikit-learn"))
        for n_clusters, estimator in ways:
            views = (view[some] for view in seen.views)
            drawn = n_clusters, settings.clusterings, settings.seed
            found = by_clusters(views, *of_tokens, *drawn, estimator)
            for layer, row in enumerate(found):
                yield {"layer": layer} | place | row
        for layer, view in enumerate(seen.views):
            yield {"layer": layer} | place | by_classifier(view[some], *of_tokens, settings.seed)
