"""How much groups of tokens change between consecutive layers of one run."""

from collections.abc import Iterator

from bottomup.core.settings import Section, Seed, key
from bottomup.tables import Table
from bottomup.views.seen import Seen

TABLE = Table(
    "run",
    reads=("views", "annotations"),
    of_words="tag",
    seconds=25,
    over_layers=True,
    judged=True,
    enlarge="measures.change.occurrences",
    shown=lambda settings: {"matching": "matched"},
    others=lambda settings: {
        "groups as published": {"matching": "published"},
        "ten types a group": {"matching": "ten_types"},
    },
)


class Settings(Section):
    """Distance between consecutive layers, for groups of tokens."""

    occurrences: int = key(
        "occurrences drawn from each group, or four for each neuron if that is more; for matched "
        "groups not counting the first of each type, for ten types a tenth of each; smaller groups "
        "have no value",
        "occurrences",
        ge=10,
        le=1_000_000,
    )
    seed: Seed = key("seed of their draw")


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.measures.change import change
    from bottomup.measures.groups import groups

    return change(
        seen.views,
        seen.occurrences,
        groups(seen.occurrences, seen.occurrences),
        settings.occurrences,
        settings.seed,
    )
