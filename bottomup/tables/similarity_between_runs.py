"""How alike two runs are, layer by layer, by measures other than PWCCA."""

from collections.abc import Iterator

from bottomup.core.settings import Section, Seed, key
from bottomup.tables import Table
from bottomup.views.seen import Seen

TABLE = Table(
    "pair",
    parts=lambda subjects: subjects.first_pairs(),
    section="similarity",
    null=True,
    seconds=12,
    over_layers=True,
    category="3 Distance",
)
FAMILY = ("measure",)


class Settings(Section):
    """How alike two runs are, by measures other than PWCCA."""

    variance: float = key(
        "share of variance that SVCCA keeps, in the fewest directions", gt=0, le=1
    )
    rsa_rows: int = key(
        "occurrences whose dissimilarities RSA compares", "occurrences", ge=3, le=10_000
    )
    seed: Seed = key("seed of their draw")


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.measures.null import calibrated, permutations
    from bottomup.measures.similarity import similarity

    permuted = permutations(seen.null)
    measured = (
        {"layer": layer, **row}
        for layer, x, y in seen.pairs_of_layers()
        for row in similarity(
            x, y, seen.blocks, **dict(settings), permutations=permuted, seen=seen.there
        )
    )
    yield from calibrated(measured, FAMILY)
