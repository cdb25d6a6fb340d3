"""How alike two runs are, layer by layer, by measures other than PWCCA.

Rows: one for each layer and measure, see `bottomup.measures.similarity.similarity`.
"""

from collections.abc import Iterator

from bottomup.device import device
from bottomup.measures.similarity import similarity
from bottomup.settings import Similarity as Settings
from bottomup.tables import Seen


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    for layer, *views in seen.pairs_of_layers():
        for row in similarity(*views, seen.blocks, **dict(settings), device=device()):
            yield {"layer": layer, **row}
