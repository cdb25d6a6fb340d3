"""How far apart consecutive layers of one run are, by PWCCA."""

from collections.abc import Iterator
from itertools import pairwise

from bottomup.tables import Table
from bottomup.tables.pwcca_between_runs import FAMILY, Settings
from bottomup.views.seen import Seen

TABLE = Table(
    "run",
    enlarge="occurrences.n",
    section="pwcca",
    null=True,
    seconds=10,
    over_layers=True,
    judged=True,
    shown=lambda settings: settings.shown,
    others=lambda settings: settings.others("weighted by the upper layer", "layers"),
)


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.measures.null import calibrated, permutations
    from bottomup.measures.pairs import pwcca_rows

    permuted = permutations(seen.null)
    measured = (
        {"layer_a": layer, "layer_b": layer + 1, **row}
        for layer, views in enumerate(pairwise(seen.views))
        for row in pwcca_rows(*views, seen.blocks, settings.variants, permuted)
    )
    yield from calibrated(measured, FAMILY)
