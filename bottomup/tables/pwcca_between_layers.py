"""How far apart consecutive layers of one run are, by PWCCA.

Rows: one for each pair of layers, variant and weighting view; x is the lower layer, layer_a.
"""

from collections.abc import Iterator
from itertools import pairwise

from bottomup.tables import Seen, Table
from bottomup.tables.pwcca_between_runs import Settings

TABLE = Table("run", "pwcca")


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.measures.blocks import pwcca_rows

    for layer, (lower, upper) in enumerate(pairwise(seen.views)):
        for row in pwcca_rows(lower, upper, seen.blocks, settings.variants):
            yield {"layer_a": layer, "layer_b": layer + 1, **row}
