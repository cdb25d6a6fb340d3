"""What a study's tables say about a claim: its parts in every run, before and after training."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bottomup.claims import NotMeasuredError
from bottomup.claims.claim import Claim, Parts
from bottomup.claims.controls import untrained
from bottomup.claims.inference import NO_PRIOR, Decision, Evidence, Prior, decide, usual, verdict
from bottomup.claims.tables import Blocks, Tables, blocks_of, of_seeds, seeds


@dataclass(frozen=True)
class Runs:
    """The tables of a study, and those of each seed alone."""

    tables: Tables
    of_seed: dict[int, Tables]

    @classmethod
    def of(cls, tables: Tables) -> "Runs":
        return cls(tables, {seed: of_seeds(tables, {seed}) for seed in seeds(tables)})

    def only(self, some: list[int]) -> "Runs":
        """The runs with these seeds."""
        of_seed = {seed: tables for seed, tables in self.of_seed.items() if seed in some}
        return Runs(of_seeds(self.tables, set(some)), of_seed)


@dataclass(frozen=True)
class Replicates:
    """The parts of a claim over all runs, and without the runs of each seed.

    seeds: those that have what the claim is about. whole: `[parts, 1 + 2 * N_DRAWS]`. without:
    `[seeds, parts]`, empty if nothing is left without one seed.
    """

    seeds: list[int]
    whole: np.ndarray
    without: np.ndarray

    @classmethod
    def of(cls, parts: Callable[[Tables], Parts], runs: Runs, across_seeds: bool) -> "Replicates":
        """Raises NotMeasuredError if no seed has what the parts need."""
        return _across(parts, runs) if across_seeds else _seed_by_seed(parts, runs)

    def extreme(self, one_of: bool) -> "Replicates":
        """The statistic alone: the smallest of the parts, or with `one_of` the largest."""
        most = np.max if one_of else np.min
        whole, without = most(self.whole, axis=0, keepdims=True), self.without
        return Replicates(self.seeds, whole, most(without, axis=1, keepdims=True))

    def evidence(self, blocks: Blocks) -> Evidence:
        return Evidence.of(self.whole, self.without, blocks)


def _seed_by_seed(parts: Callable[[Tables], Parts], runs: Runs) -> Replicates:
    each, missing = {}, "run"
    for seed, tables in runs.of_seed.items():
        try:
            each[seed] = np.stack(parts(tables))
        except NotMeasuredError as error:
            missing = str(error)
    if not each:
        raise NotMeasuredError(missing)
    values = np.stack([of_seed[:, 0] for of_seed in each.values()])
    without = values[:0]
    if len(values) > 1:
        without = (values.sum(0) - values) / (len(values) - 1)
    return Replicates([*each], np.mean([*each.values()], axis=0), without)


def _across(parts: Callable[[Tables], Parts], runs: Runs) -> Replicates:
    every = [*runs.of_seed]
    whole = np.stack(parts(runs.tables))
    try:
        left = {seed: np.stack(parts(of_seeds(runs.tables, {*every} - {seed}))) for seed in every}
    except NotMeasuredError:  # a single pair of seeds
        return Replicates(every, whole, np.empty((0, len(whole))))
    # A seed that only other objectives have is not a run here.
    changed = [seed for seed in every if not np.array_equal(left[seed], whole, equal_nan=True)]
    kept = changed or every
    return Replicates(kept, whole, np.stack([left[seed][:, 0] for seed in kept]))


@dataclass(frozen=True)
class Finding:
    """What is known of a claim.

    found: its parts; before: those of the initial models; beside: those of the runs with the same
    seeds as these; condition: those of its `where`. The last three are None if there are none or
    they were not measured. blocks: those of the tables.
    """

    claim: Claim
    found: Replicates
    before: Replicates | None
    beside: Replicates | None
    condition: Replicates | None
    blocks: Blocks

    @property
    def difference(self) -> Replicates | None:
        """The statistic less that of the initial models, if the claim is about training."""
        if not self.claim.of_training or not self.beside or self.before.seeds != self.beside.seeds:
            return None
        after, before = (part.extreme(self.claim.one_of) for part in (self.beside, self.before))
        return Replicates(after.seeds, after.whole - before.whole, after.without - before.without)

    @cached_property
    def parts(self) -> Evidence:
        return self.found.evidence(self.blocks)

    @cached_property
    def added(self) -> Evidence | None:
        return self.difference and self.difference.evidence(self.blocks)

    def decided(self, prior: Prior) -> "Decided":
        claim = self.claim
        before, condition = (
            part and part.evidence(self.blocks) for part in (self.before, self.condition)
        )
        initial = decide(before, prior, claim.margin, claim.one_of) if before else None
        return decided(claim, prior, self.parts, self.added, condition, initial)


def decided(
    claim: Claim,
    prior: Prior,
    parts: Evidence,
    added: Evidence | None,
    condition: Evidence | None,
    initial: Decision | None = None,
) -> "Decided":
    """The sentence holds if its parts do and, where there is evidence, training adds to them. It
    does not hold if its parts are reversed, whatever training did. If its condition is not met,
    nothing is decided."""
    own = decide(parts, prior, claim.margin, claim.one_of)
    more = decide(added, prior, claim.margin) if added else None
    above, below = own.above, own.below
    if more:
        above = np.maximum(above, more.above)
    if condition:
        unmet = decide(condition, of_condition(claim, prior), claim.margin).above
        above, below = np.maximum(above, unmet), np.maximum(below, unmet)
    return Decided(own, more, initial, above, below)


def of_condition(claim: Claim, prior: Prior) -> Prior:
    """What is known of how much runs vary in a claim's condition, from the prior of its table."""
    return NO_PRIOR if claim.where_elsewhere else prior


@dataclass(frozen=True)
class Decided:
    """Decisions on the parts of a claim, on what training adds to its statistic and on the initial
    models. `above` and `below` are one-sided p-values that the sentence holds or does not hold,
    arrays `[...]` as in `Evidence`."""

    own: Decision
    added: Decision | None
    initial: Decision | None
    above: np.ndarray
    below: np.ndarray

    @property
    def p(self) -> float:
        """The two-sided p-value."""
        return float(min(1.0, 2 * min(self.above, self.below)))

    @property
    def verdict(self) -> str:
        return verdict(self.above, self.below)


def find(claim: Claim, runs: Runs, initial: Runs) -> Finding:
    """What the tables say about a claim; NotMeasuredError if they say nothing."""
    found = Replicates.of(claim.parts, runs, claim.across_seeds)
    before = beside = None
    with suppress(NotMeasuredError):
        before = Replicates.of(claim.parts, initial.only(found.seeds), claim.across_seeds)
        beside = Replicates.of(claim.parts, runs.only(before.seeds), claim.across_seeds)
    condition = claim.where and Replicates.of(claim.where, runs, claim.across_seeds)
    return Finding(claim, found, before, beside, condition, blocks_of(runs.tables))


def find_all(
    claims: Iterable[Claim], tables: Tables, initial: Mapping[str, str]
) -> tuple[dict[str, Finding], dict[str, NotMeasuredError]]:
    """What the tables say about each claim, by name, and what is missing for the others.

    initial: for each objective, that of the models it starts from, as in `controls.untrained`.
    """
    runs, before = Runs.of(tables), Runs.of(untrained(tables, initial))
    found, missing = {}, {}
    for claim in claims:
        try:
            found[claim.name] = find(claim, runs, before)
        except NotMeasuredError as error:
            missing[claim.name] = error
    return found, missing


def priors(findings: Iterable[Finding]) -> dict[str, Prior]:
    """By table, how much runs usually vary in the statistics of claims."""
    by_measure: dict[str, list[Evidence]] = {}
    for one in findings:
        known = by_measure.setdefault(one.claim.measure, [])
        known += [part for part in (one.parts, one.added) if part]
    return {measure: usual(known) for measure, known in by_measure.items()}
