"""How far apart consecutive layers of one run are, by PWCCA.

Rows: one for each pair of layers, variant and weighting view; x is the lower layer, layer_a.
"""

from collections.abc import Iterator
from itertools import pairwise

from bottomup.measures.blocks import pwcca_rows
from bottomup.settings import Pwcca as Settings
from bottomup.tables import Seen


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    for layer, (lower, upper) in enumerate(pairwise(seen.views)):
        for row in pwcca_rows(lower, upper, seen.blocks, settings.variants):
            yield {"layer_a": layer, "layer_b": layer + 1, **row}
