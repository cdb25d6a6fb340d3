"""What each layer of one run says of the tokens around a position, place by place."""

from collections.abc import Iterator

from bottomup.core.settings import Section, Seed, key
from bottomup.tables import Table
from bottomup.views.seen import Seen

TABLE = Table(
    "run",
    reads=("views", "frequencies"),
    parts=lambda subjects: subjects.first_runs(subjects.looked_at + subjects.steps),
    seconds=24,
    over_layers=True,
    category="2 Information",
)


class Settings(Section):
    """What a representation says of the tokens around it, in nats."""

    n_tokens: int = key("most frequent tokens that it is asked about", "tokens", ge=2, le=100_000)
    occurrences: int = key(
        "occurrences of them that are drawn, half of them to train a classifier",
        "occurrences",
        ge=100,
        le=10**7,
    )
    n_clusters: int = key("clusters of representations", ge=2, le=10**6)
    seed: Seed = key("seed of the draw, of clusters, shuffles and halves")


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.measures import context, jackknife
    from bottomup.measures.labels import choose

    occurrences, seed = seen.whole, settings.seed
    labeled = choose(occurrences, seen.frequencies, settings.n_tokens, "input", "all")
    sample = context.draw(occurrences, *labeled, settings.occurrences, seed)
    count = jackknife.n_blocks(seen.blocks)
    for layer, view in enumerate(seen.views):
        for row in context.by_classifier(view, sample, count, seed):
            yield {"layer": layer, **row}
        for row in context.by_clusters(view, sample, count, settings.n_clusters, seed):
            yield {"layer": layer, **row}
