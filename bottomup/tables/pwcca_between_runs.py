"""How far apart two runs are, layer by layer, by PWCCA.

Rows: one for each layer, variant and weighting view; x is the first run. The null of a kind is that
of its layers together.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator

from bottomup.settings import Section, key, unique
from bottomup.tables import Seen, Table

TABLE = Table("pair", "pwcca", null=True)
FAMILY = ("variant", "weights")


class Settings(Section):
    """Distance between two views by canonical correlations."""

    variants: Annotated[list[Literal["definition", "svcca-2019"]], AfterValidator(unique)] = key(
        "as defined, or as computed by the code behind the published numbers", min_length=1
    )


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.measures.null import calibrated, permutations
    from bottomup.measures.pairs import pwcca_rows

    permuted = permutations(seen.null)
    found = (
        {"layer": layer, **row}
        for layer, *views in seen.pairs_of_layers()
        for row in pwcca_rows(*views, seen.blocks, settings.variants, permuted)
    )
    yield from calibrated(found, FAMILY)
