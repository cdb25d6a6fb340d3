"""What each occurrence has in common with its nearest neighbors, at each layer of one run."""

from collections.abc import Iterator

from bottomup.core.settings import Section, Seed, key
from bottomup.tables import Table
from bottomup.views.seen import Seen

TABLE = Table(
    "run",
    reads=("views", "annotations"),
    parts=lambda subjects: subjects.runs(subjects.by_mask + subjects.checkpoints + subjects.steps),
    of_words="ccg",
    null=True,
    seconds=30,
    over_layers=True,
    judged=True,
    enlarge="both occurrences of measures.neighbors",
    shown=lambda settings: {"metric": "cosine"},
    others=lambda settings: {"Euclidean": {"metric": "euclidean"}},
)


class Settings(Section):
    """What a representation shares with its nearest neighbors."""

    k: int = key("number of nearest neighbors", "neighbors", ge=1, le=10_000)
    tokens: int = key(
        "most frequent tokens among which to compare the token", "tokens", ge=2, le=10_000
    )
    occurrences: int = key("occurrences of each of these tokens", "occurrences", ge=2, le=10_000)
    within_tokens: int = key(
        "most frequent tokens within each of which to compare everything else",
        "tokens",
        ge=1,
        le=10_000,
    )
    within_occurrences: int = key(
        "occurrences of each of these tokens; more than k", "occurrences", ge=2, le=100_000
    )
    seed: Seed = key("seed of the draws")


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.measures.null import calibrated

    yield from calibrated(_measured(seen, settings), ("property", "metric"))


def _measured(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.measures import neighbors
    from bottomup.measures.null import permutations

    k, within = settings.k, (settings.within_tokens, settings.within_occurrences, settings.seed)
    drawn = [
        neighbors.among_tokens(seen.whole, settings.tokens, settings.occurrences, settings.seed),
        neighbors.within_tokens(seen.whole, *within),
    ]
    if "ccg" in seen.whole:
        drawn.append(neighbors.within_ambiguous_tokens(seen.whole, *within))
        source = seen.whole["ccg_source"].iloc[0]
    samples = [(sample, neighbors.chance(sample)) for sample in drawn]
    permuted = permutations(seen.null)
    for layer, view in enumerate(seen.views):
        for sample, chance in samples:
            for metric in neighbors.METRICS:
                for row in neighbors.estimates(
                    view, sample, seen.blocks, k, metric=metric, permutations=permuted
                ):
                    name = row["property"]
                    yield {
                        **{"layer": layer, "property": name, "metric": metric, "k": k},
                        **{**row, "chance": chance[name]},
                        **{"n_occurrences": sample.rows.size, "n_tokens": sample.n_tokens},
                        "ccg_source": source if name.startswith("ccg") else "",
                    }
