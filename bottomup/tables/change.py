"""How much groups of tokens change between consecutive layers of one run.

Rows: one for each group, matching and pair of layers, weighted by the lower one, layer_a.
"""

from collections.abc import Iterator

from bottomup.device import device
from bottomup.measures.change import change
from bottomup.measures.groups import groups
from bottomup.settings import Change as Settings
from bottomup.tables import Seen


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    return change(
        seen.views,
        seen.occurrences,
        groups(seen.occurrences, seen.occurrences),
        settings.occurrences,
        settings.seed,
        device(),
    )
