"""Looks: more seeds, only for the models on which an undecided claim rests.

A study that plans several looks, of 3, 5 and 8 seeds, starts with three. At each look every claim
is judged at an equal share of the level (Bonferroni), and what is decided stands. So the level
holds however the looks depend on each other, and for whatever reason a study goes on.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from bottomup.claims.tables import Tables, of_seeds
from bottomup.claims.words import IN_VAIN, NOT_MEASURED, UNDECIDED
from bottomup.core.errors import UserError
from bottomup.core.settings import Section

# Tables of pruned models, of which a study has fewer seeds.
OF_PRUNED = {"pruning", "pruned_functions", "gates"}


class Looks(Section):
    """seeds: those of the study, in order. planned: how many of them each look has, rising."""

    seeds: list[int]
    planned: list[int]

    def earlier(self, tables: Tables, present: set[int]) -> list[Tables]:
        """The tables of each look before the last that a study with the seeds `present` has taken;
        those of the last have all runs, whatever their number."""
        return [of_seeds(tables, {*self.seeds[:n]}) for n in self.reached(present)[:-1]]

    def reached(self, present: set[int]) -> list[int]:
        """The number of seeds of each look that a study with the seeds `present` has taken."""
        return [n for n in self.planned if present & {*self.seeds[n - 1 :]}] or self.planned[:1]


@dataclass(frozen=True)
class Next:
    """The next look: how many seeds each objective has in it, and how many runs are pruned.

    seeds: by objective, of those that get more. pruned: None if no more runs are pruned. claims:
    the undecided ones that ask for it.
    """

    look: int
    seeds: dict[str, int]
    pruned: int | None
    claims: list[str]


def next_look(
    claims: pd.DataFrame,
    planned: Sequence[int],
    now: Mapping[str, int],
    initial: Mapping[str, str],
    pruned: int,
) -> Next | None:
    """What the next look trains; None if no look is left, or nothing is undecided that more runs
    would decide.

    claims: as from `judge`, with the objectives on which each rests. Those to which more seeds
    bring nothing ask for none (`words.IN_VAIN`). now: by objective, how many seeds it has. initial:
    as in `find_all`; initial models get the seeds of those that start from them. pruned: how many
    runs of an objective are pruned.

    An objective on which no claim rests may have more seeds, and so may initial models beside
    trained ones; no look was taken by that.

    Raises UserError if no claim is judged.
    """
    if (claims["verdict"] == NOT_MEASURED).all():
        raise UserError(
            "no claim of this study is judged, so none asks for more seeds; measure what claims "
            "rest on: keys only and leave_out; docs/verdicts.csv has the claims with their tables"
        )
    asked = claims[(claims["verdict"] == UNDECIDED) & ~claims["undecided_until"].isin(IN_VAIN)]
    resting = _objectives(claims, now)
    counted = resting - {*initial.values()} or resting
    taken = max((now[name] for name in counted), default=planned[-1])
    left = [n for n in planned if n > taken]
    if asked.empty or not left:
        return None
    n = left[0]
    wanted = _objectives(asked, now)
    wanted |= {initial[name] for name in wanted if name in initial}
    more = {name: n for name, has in now.items() if name in wanted and has < n}
    of_pruned = asked["measure"].isin(OF_PRUNED).any() and pruned < n
    if not more and not of_pruned:
        return None
    number = [*planned].index(n) + 1
    return Next(number, more, n if of_pruned else None, [*asked["claim"]])


def _objectives(claims: pd.DataFrame, known: Collection[str]) -> set[str]:
    """The objectives, of those that are known, on which claims rest."""
    return {name for names in claims["rests_on"] for name in names.split() if name in known}
