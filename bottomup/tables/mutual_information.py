"""The mutual information between tokens and their representations, at each layer of one run."""

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from bottomup.core.settings import Section, Seed, key, unique
from bottomup.tables import Table
from bottomup.views.seen import Seen

TABLE = Table(
    "reading",
    reads=("views", "frequencies"),
    parts=lambda subjects: subjects.readings(),
    seconds=76,
    over_layers=True,
    judged=True,
    enlarge="occurrences.n",
    shown=lambda settings: {"estimator": "clusters"} | settings.shown,
    others=lambda settings: settings.others,
)

Clusters = Annotated[int, Field(ge=2, le=10**6)]
Tokens = Annotated[int, Field(ge=2, le=100_000)]


class Settings(Section):
    """Information that a layer has about a token, in nats."""

    n_tokens: Tokens = key("number of most frequent tokens to use", "tokens")
    other_n_tokens: Annotated[list[Tokens], AfterValidator(unique)] = key(
        "other numbers of them, to see what depends on that, by n_clusters clusters alone; each "
        "takes about as long as n_clusters does",
        "tokens",
    )
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

    @property
    def shown(self) -> dict[str, int]:
        """The estimate that figures show and claims use, as values of columns of the table."""
        return {"n_clusters": self.n_clusters, "n_tokens": self.n_tokens}

    @property
    def others(self) -> dict[str, dict[str, Any]]:
        """The other estimates, by name."""
        shown = {"estimator": "clusters"} | self.shown
        others = {f"{n} clusters": shown | {"n_clusters": n} for n in self.other_n_clusters}
        others |= {f"{n} tokens": shown | {"n_tokens": n} for n in self.other_n_tokens}
        if self.scikit_learn:
            others["scikit-learn"] = {"estimator": "scikit-learn"}
        return {"classifier": {"estimator": "classifier"}} | others


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.measures import jackknife
    from bottomup.measures.classifier_bound import by_classifier
    from bottomup.measures.labels import choose
    from bottomup.measures.mutual_information import by_clusters

    for label, way in product(map(dict, seen.labels), _ways(settings)):
        measured: Iterator[dict]
        n_tokens, n_clusters, estimator = way
        some, tokens = choose(seen.occurrences, seen.frequencies, n_tokens, **label)
        of_tokens = tokens, seen.blocks[some], jackknife.n_blocks(seen.blocks)
        views = (view[some] for view in seen.views)
        if estimator == "classifier":
            measured = (by_classifier(view, *of_tokens, settings.seed) for view in views)
        else:
            drawn = n_clusters, settings.clusterings, settings.seed
            measured = by_clusters(views, *of_tokens, *drawn, estimator)
        place = {"reading": seen.reading, **label, "n_tokens": n_tokens}
        for layer, row in enumerate(measured):
            yield {"layer": layer} | place | row


def _ways(settings: Settings) -> list[tuple[int, int | None, str]]:
    """The number of tokens, the number of clusters and the estimator of each estimate; the one
    shown comes first."""
    n_tokens, n_clusters = settings.n_tokens, settings.n_clusters
    ways = [(n_tokens, n, "clusters") for n in (n_clusters, *settings.other_n_clusters)]
    ways += [(n, n_clusters, "clusters") for n in settings.other_n_tokens]
    if settings.scikit_learn:
        ways.append((n_tokens, n_clusters, "scikit-learn"))
    return [*ways, (n_tokens, None, "classifier")]
