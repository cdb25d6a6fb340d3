"""How far apart two runs are, layer by layer, by PWCCA.

Rows: one for each layer, variant and weighting view; x is the first run.
"""

from collections.abc import Iterator

from bottomup.measures.blocks import pwcca_rows
from bottomup.settings import Pwcca as Settings
from bottomup.tables import Seen


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    for layer, *views in seen.pairs_of_layers():
        for row in pwcca_rows(*views, seen.blocks, settings.variants):
            yield {"layer": layer, **row}
