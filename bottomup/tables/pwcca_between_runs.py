"""How far apart two runs are, layer by layer, by PWCCA."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator

from bottomup.core.settings import Section, key, unique
from bottomup.tables import Table
from bottomup.views.seen import Seen

TABLE = Table(
    "pair",
    enlarge="occurrences.n",
    parts=lambda subjects: list(subjects.pairs_of_runs()),
    section="pwcca",
    null=True,
    seconds=10,
    over_layers=True,
    judged=True,
    shown=lambda settings: settings.shown,
    others=lambda settings: settings.others("weighted by the second run", "runs"),
)
FAMILY = ("variant", "weights")


class Settings(Section):
    """Distance between two views by canonical correlations."""

    variants: Annotated[list[Literal["definition", "svcca-2019"]], AfterValidator(unique)] = key(
        "as defined, or as computed by the code behind the published numbers", min_length=1
    )

    @property
    def shown(self) -> dict[str, str]:
        """The estimate that figures show and claims use, as values of columns of the table."""
        return {"variant": self.variants[0], "weights": "x"}

    def others(self, name: str, between: str) -> dict[str, dict[str, str]]:
        """The other estimates, by name; `name`: that with the weights of y."""
        others = {}
        if "definition" in self.variants:
            others[name] = {"variant": "definition", "weights": "y"}
        for variant in self.variants[1:]:
            others[f"{variant}, {between}"] = {"variant": variant, "weights": "x"}
        return others


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.measures.null import calibrated, permutations
    from bottomup.measures.pairs import pwcca_rows

    permuted = permutations(seen.null)
    measured = (
        {"layer": layer, **row}
        for layer, x, y in seen.pairs_of_layers()
        for row in pwcca_rows(x, y, seen.blocks, settings.variants, permuted)
    )
    yield from calibrated(measured, FAMILY)
