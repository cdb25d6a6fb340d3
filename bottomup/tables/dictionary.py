"""What two runs have in common, feature by feature of one sparse dictionary of both."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bottomup.core import names
from bottomup.core.layers import depths
from bottomup.core.settings import Section, Seed, key
from bottomup.tables import Table
from bottomup.views.seen import Seen

if TYPE_CHECKING:
    from bottomup.plan.subjects import Subjects


def trained_pairs(subjects: "Subjects") -> list[str]:
    shown = {*subjects.compared} & {*subjects.trained}
    return [
        pair
        for pair in subjects.pairs_of_runs()
        for (a, seed_a), (b, seed_b) in [map(names.objective_and_seed, names.runs_of(pair))]
        if {a, b} <= shown and (a == b) != (seed_a == seed_b)
    ]


TABLE = Table(
    "pair",
    parts=trained_pairs,
    seconds=60,
    judged=True,
    category="3 Distance",
)


class Settings(Section):
    """Which features of two runs only one has, by a sparse dictionary of both."""

    layers: int = key(
        "depths at which, equally far apart, the top among them", "layers", ge=1, le=1000
    )
    times: int = key("features for each neuron of a run", ge=1, le=1000)
    active: int = key("features of an occurrence, on average", "features", ge=1, le=10_000)
    steps: int = key("updates, of 512 occurrences", "updates", ge=1, le=10**6)
    seed: Seed = key("seed of the start, and of the order of occurrences")


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.core.device import device
    from bottomup.measures.dictionary import dictionary

    asked = depths(len(seen.views) - 1, settings.layers)
    for layer, x, y in seen.pairs_of_layers():
        if layer in asked:
            measured = dictionary(
                *(x, y, seen.occurrences),
                times=settings.times,
                active=settings.active,
                steps=settings.steps,
                seed=settings.seed,
                device=device(),
            )
            yield from ({"layer": layer, **row} for row in measured)
