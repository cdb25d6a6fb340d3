"""How evenly representations are spread over directions, in each layer of one run.

Words are the tokens that are read.
"""

from collections.abc import Iterator

from bottomup.core.settings import Section, Seed, key
from bottomup.tables import Table, with_first_steps
from bottomup.views.seen import Seen

TABLE = Table(
    "run",
    enlarge="occurrences.n",
    parts=with_first_steps,
    seconds=15,
    over_layers=True,
    judged=True,
    category="5 What a layer represents",
)


class Settings(Section):
    """How evenly representations are spread over directions."""

    n: int = key("occurrences drawn for the baseline", "occurrences", ge=2, le=100_000)
    seed: Seed = key("seed of their draw")


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.measures.isotropy import isotropy

    words, sentences = (seen.occurrences[name].to_numpy() for name in ("input_id", "sentence"))
    return isotropy(seen.views, words, sentences, seen.blocks, **dict(settings), seen=seen.there)
