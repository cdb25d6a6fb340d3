"""How the representations of each layer of one run lie in space, by measures without labels.

Sentences are whole: all of their tokens are occurrences, without special ones; if occurrences are
words, those that the run sees.
"""

from collections.abc import Iterator

from bottomup.core.settings import Section, Seed, key
from bottomup.tables import Table
from bottomup.views.seen import Seen

TABLE = Table(
    "run",
    enlarge="occurrences.n",
    seconds=20,
    over_layers=True,
    judged=True,
    category="5 What a layer represents",
)


class Settings(Section):
    """How representations lie in space, by measures without labels."""

    points: int = key(
        "occurrences drawn for the intrinsic dimension", "occurrences", ge=100, le=5000
    )
    seed: Seed = key("seed of their draw and of the nulls")


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.measures.geometry import geometry

    sentences = seen.occurrences["sentence"].to_numpy()
    return geometry(seen.views, sentences, seen.blocks, **dict(settings), seen=seen.there)
