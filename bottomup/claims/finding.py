"""What a study's tables say about a claim: its parts in every run, before and after training."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from bottomup.claims import NotEnoughError, NotMeasuredError
from bottomup.claims.claim import Claim, Parts
from bottomup.claims.inference import (
    NO_PRIOR,
    Decision,
    Evidence,
    Prior,
    decide,
    pooled_prior,
    unknown_runs,
)
from bottomup.claims.initial import untrained
from bottomup.claims.tables import (
    N_DRAWS,
    Blocks,
    Tables,
    blocks_of,
    objectives,
    of_seeds,
    seeds,
    seeds_of,
    without_objective,
)
from bottomup.claims.verdicts import PValues
from bottomup.claims.words import LEVEL, PAPERS, PUBLISHED_AS
from bottomup.core.errors import UserError
from bottomup.core.schema import nearest


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
        if self.of_seed.keys() <= {*some}:
            return self
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
        """The parts in these runs. Raises NotMeasuredError if no seed has what they need."""
        return _across(parts, runs) if across_seeds else _seed_by_seed(parts, runs)

    def extreme(self, one_of: bool) -> "Replicates":
        """The statistic alone: the smallest of the parts, or with `one_of` the largest."""
        most = np.max if one_of else np.min
        whole, without = most(self.whole, axis=0, keepdims=True), self.without
        return Replicates(self.seeds, whole, most(without, axis=1, keepdims=True))

    def evidence(self, blocks: Blocks) -> Evidence:
        return Evidence.of(self.whole, self.without, blocks)


def _seed_by_seed(parts: Callable[[Tables], Parts], runs: Runs) -> Replicates:
    each, missing = {}, [NotMeasuredError("run")]
    for seed, tables in runs.of_seed.items():
        try:
            each[seed] = known(stacked(parts, tables))
        except NotMeasuredError as error:
            missing.append(error)
    if not each:
        raise max(reversed(missing), key=_how_much_it_says)
    values = np.stack([of_seed[:, 0] for of_seed in each.values()])
    without = values[:0]
    if len(values) > 1:
        without = (values.sum(0) - values) / (len(values) - 1)
    return Replicates([*each], np.mean([*each.values()], axis=0), without)


def _how_much_it_says(error: NotMeasuredError) -> tuple[bool, bool]:
    """The key that sorts the errors of seeds by how much they say, least first. A seed that lacks a
    model, such as one that other objectives alone have, says only that."""
    return isinstance(error, NotEnoughError), bool(error.table)


def stacked(parts: Callable[[Tables], Parts], tables: Tables) -> np.ndarray:
    """The parts in these tables, `[parts, 1 + 2 * N_DRAWS]`."""
    found = parts(tables)
    is_list = isinstance(found, list) and found
    if not is_list or any(np.shape(of) != (1 + 2 * N_DRAWS,) for of in found):
        raise UserError(
            f"the claim {getattr(parts, '__name__', parts)} does not give a list of values with "
            "their draws; allowed: a list of what functions of bottomup/claims/curves.py give, of "
            "one layer or as a mean over layers"
        )
    return np.stack(found)


def known(values: np.ndarray) -> np.ndarray:
    """The parts with their draws, if each has a finite value; else NotMeasuredError, since a run
    without a number says nothing."""
    if not np.isfinite(values[:, 0]).all():
        raise NotEnoughError("a run in which all values that it rests on are numbers")
    return values


def _across(parts: Callable[[Tables], Parts], runs: Runs) -> Replicates:
    every = [*runs.of_seed]
    whole = stacked(parts, runs.tables)
    try:
        known(whole)
        left = {seed: stacked(parts, of_seeds(runs.tables, {*every} - {seed})) for seed in every}
    except NotMeasuredError:  # a run without a number, or a single pair of seeds
        with_numbers = _with_numbers(parts, runs)
        if 1 < len(with_numbers) < len(every):
            return _across(parts, runs.only(with_numbers))
        return Replicates(every, known(whole), np.empty((0, len(whole))))
    equal = {
        seed: ((of == whole) | (np.isnan(of) & np.isnan(whole))).all(axis=1)
        for seed, of in left.items()
    }
    # A part of objectives with fewer seeds would count those of others as its runs.
    of_all_parts = [seed for seed in every if not equal[seed].any()]
    if 1 < len(of_all_parts) < len(every):
        return _across(parts, runs.only(of_all_parts))
    # A seed that only other objectives have is not a run here.
    kept = [seed for seed in every if not equal[seed].all()] or every
    return Replicates(kept, whole, np.stack([left[seed][:, 0] for seed in kept]))


def _with_numbers(parts: Callable[[Tables], Parts], runs: Runs) -> list[int]:
    """The seeds whose runs make finite values with those of another seed."""
    kept = set()
    for pair in combinations(runs.of_seed, 2):
        with suppress(NotMeasuredError):
            known(stacked(parts, of_seeds(runs.tables, {*pair})))
            kept |= {*pair}
    return [seed for seed in runs.of_seed if seed in kept]


@dataclass(frozen=True)
class Finding:
    """What is known of a claim.

    replicates: its parts; before: those of the initial models; matched: those of the runs with the
    same seeds as these; condition: those of its `where`. The last three are None if there are none
    or they were not measured. blocks: those of the tables. asked: the seeds whose models it could
    be seen in: more than `replicates.seeds` if, say, some models have no head with a function.
    """

    claim: Claim
    replicates: Replicates
    before: Replicates | None
    matched: Replicates | None
    condition: Replicates | None
    blocks: Blocks
    asked: list[int]

    @property
    def unrepeated(self) -> bool:
        """Whether there are several seeds, and yet they do not tell how far others would be.

        Either only one run has what the claim is about, and is thus chosen by its result; or all
        runs together make one pair.
        """
        return self.parts.n_runs == 1 < len(self.asked)

    @property
    def difference(self) -> Replicates | None:
        """The statistic less that of the initial models, if the claim is about training."""
        before, after = self.before, self.matched
        if not self.claim.of_training or not before or not after or before.seeds != after.seeds:
            return None
        before, after = (part.extreme(self.claim.one_of) for part in (before, after))
        return Replicates(after.seeds, after.whole - before.whole, after.without - before.without)

    @cached_property
    def parts(self) -> Evidence:
        return self.replicates.evidence(self.blocks)

    @cached_property
    def of_condition(self) -> Evidence | None:
        return self.condition.evidence(self.blocks) if self.condition else None

    @cached_property
    def added(self) -> Evidence | None:
        return self.difference.evidence(self.blocks) if self.difference else None

    def decided(self, prior: Prior) -> "Decided":
        claim = self.claim
        before = self.before.evidence(self.blocks) if self.before else None
        initial = _over_runs(before, prior, claim.margin, claim.one_of) if before else None
        decisions = decided(claim, prior, self.parts, self.added, self.of_condition, initial)
        return decisions.in_vain() if self.unrepeated else decisions

    def of_one_run(self, prior: Prior) -> str:
        """What is of one run, while nothing tells how far a second one would be; empty if
        nothing is."""
        known = {
            "it": (self.parts, prior),
            "what training adds": (self.added, prior),
            "its condition": (self.of_condition, of_condition(self.claim, prior)),
        }
        unknown = (name for name, (of, usual) in known.items() if of and unknown_runs(of, usual))
        return next(unknown, "")


def decided(
    claim: Claim,
    prior: Prior,
    parts: Evidence,
    added: Evidence | None,
    condition: Evidence | None,
    initial: Decision | None = None,
) -> "Decided":
    """The sentence holds if its parts do and, where there is evidence, training adds to them. It is
    contradicted if its parts are reversed and training does not add but takes away. If its
    condition is not met, or if nothing tells how far a second run would be, nothing is decided."""
    own = _over_runs(parts, prior, claim.margin, claim.one_of).within(claim.within)
    more = None
    if added:
        more = _over_runs(added, prior, claim.margin).within(claim.within.of_differences)
    holds, absent, contradicted = own.above, own.below, own.below
    towards = smaller = np.ones_like(own.value)
    if more:
        holds = np.maximum(holds, more.above)
        contradicted = np.maximum(contradicted, more.below)
        towards = more.above
    if claim.has_published_size:
        short = replace(parts, values=parts.values - claim.published)
        smaller = _over_runs(short, prior, 0.0, claim.one_of).below
    p = PValues(holds, absent, contradicted, towards, smaller)
    met = None
    if condition:
        met = _over_runs(condition, of_condition(claim, prior), claim.margin_of_condition)
        p = p.at_least(met.above)
    return Decided(own, more, initial, met, p)


def _over_runs(evidence: Evidence, prior: Prior, margin: float, one_of: bool = False) -> Decision:
    """As `decide`, but documents alone decide nothing; the interval still tells how far they
    vary."""
    decision = decide(evidence, prior, margin, one_of)
    if not unknown_runs(evidence, prior):
        return decision
    never = np.ones_like(decision.value)
    return replace(decision, above=never, below=never)


def of_condition(claim: Claim, prior: Prior) -> Prior:
    """The prior for the condition of a claim: that of its statistic, or none if the condition is in
    another unit."""
    return prior if claim.where_size is None else NO_PRIOR


@dataclass(frozen=True)
class Decided:
    """Decisions on the parts of a claim, on what training adds to its statistic, on the initial
    models and on its condition; and the p-values that follow. Arrays `[...]` as in `Evidence`."""

    own: Decision
    added: Decision | None
    initial: Decision | None
    condition: Decision | None
    p: PValues

    def in_vain(self) -> "Decided":
        """The same, with nothing decided."""
        return replace(self, p=self.p.at_least(1.0))

    @property
    def less_than_before(self) -> bool:
        """Whether it holds, but training takes away from it."""
        against = self.added is not None and self.added.below <= LEVEL / 2
        return bool(against and self.own.above <= LEVEL / 2)


def find(claim: Claim, runs: Runs, initial: Runs) -> Finding:
    """What the tables say about a claim; NotMeasuredError if they say nothing."""
    _require_known(claim)
    replicates = Replicates.of(claim.parts, runs, claim.across_seeds)
    if claim.measure not in runs.tables:
        raise UserError(
            f"the claim {claim.name} has the measure {claim.measure} and rests on other tables; "
            f"allowed: one that it reads, of {', '.join(sorted(runs.tables))}"
        )
    before = matched = None
    with suppress(NotMeasuredError):
        before = Replicates.of(claim.parts, initial.only(replicates.seeds), claim.across_seeds)
        matched = replicates
        if before.seeds != replicates.seeds:
            matched = Replicates.of(claim.parts, runs.only(before.seeds), claim.across_seeds)
    condition = claim.where and Replicates.of(claim.where, runs, claim.across_seeds)
    finding = Finding(
        claim, replicates, before, matched, condition, blocks_of(runs.tables), replicates.seeds
    )
    if len(replicates.seeds) < len(runs.of_seed) and not claim.across_seeds:
        finding = replace(finding, asked=_asked(finding, runs))
    return finding


def _require_known(claim: Claim) -> None:
    """Raise UserError for a claim of an unknown paper, or whose published value says nothing."""
    if not claim.published > 0:
        raise UserError(
            f"the claim {claim.name} has published {claim.published:g}; allowed: a number above 0, "
            "of which its margin is a share; turn the statistic around, or take a size that counts"
        )
    another = "or another, once PAPERS in bottomup/claims/words.py has it"
    for key, found, known, also in (
        ("paper", claim.paper, PAPERS, another),
        ("published_as", claim.published_as, PUBLISHED_AS, 'or "", if it is of this statistic'),
    ):
        if found not in known:
            line = nearest(found, [*filter(None, known)])
            raise UserError(f'the claim {claim.name} has {key} "{found}"; {line}; {also}')


def _asked(finding: Finding, runs: Runs) -> list[int]:
    """The seeds for which the claim's table has all the models that the claim is about."""
    of_claim = {finding.claim.measure: runs.tables[finding.claim.measure]}
    about = rests_on(finding, runs.tables, objectives(of_claim))
    each = [seeds_of(of_claim, [name]) for name in about]
    return sorted(set.intersection(*each)) if each else finding.replicates.seeds


def rests_on(finding: Finding, tables: Tables, names: Iterable[str]) -> list[str]:
    """The objectives of these whose models a claim, or its condition, is about: without them it has
    another value or none."""
    claim = finding.claim
    known = tables if claim.across_seeds else of_seeds(tables, {finding.replicates.seeds[0]})

    def parts(tables: Tables) -> np.ndarray:
        condition = claim.where(tables) if claim.where else []
        return np.stack([*claim.parts(tables), *condition])

    def other(without: str) -> bool:
        others = without_objective(known, without)
        if all(len(others[name].rows) == len(table.rows) for name, table in known.items()):
            return False  # it has no runs of this seed
        try:
            left = parts(others)
        except NotMeasuredError:
            return True
        return not np.array_equal(left, whole, equal_nan=True)

    whole = parts(known)
    return [name for name in names if other(name)]


def find_all(
    claims: Iterable[Claim], tables: Tables, initial: Mapping[str, str]
) -> tuple[dict[str, Finding], dict[str, NotMeasuredError]]:
    """What the tables say about each claim, by name, and what is missing for the others.

    initial: for each objective, that of the models it starts from, as in `initial.untrained`.
    """
    runs, before = Runs.of(tables), Runs.of(untrained(tables, initial))
    findings: dict[str, Finding] = {}
    missing: dict[str, NotMeasuredError] = {}
    for claim in claims:
        if claim.name in {**findings, **missing}:
            raise UserError(f"two claims are called {claim.name}; allowed: each name once")
        try:
            findings[claim.name] = find(claim, runs, before)
        except NotMeasuredError as error:
            missing[claim.name] = error
    return findings, missing


def priors(findings: Mapping[str, Finding]) -> dict[str, Prior]:
    """For each claim the prior: how much runs usually vary in the statistics of its table.

    Variances are pooled in units of the published effect, and the result is in the unit of the
    claim. Claims of the field have a pool of their own, since claims are more often added to them
    than to the papers'.
    """
    by_measure: dict[tuple[str, bool], list[Evidence]] = {}
    for finding in findings.values():
        pooled = by_measure.setdefault(_pool(finding.claim), [])
        unit = finding.claim.published**2
        pooled += [
            replace(part, run=part.run / unit) for part in (finding.parts, finding.added) if part
        ]
    by_pool = {pool: pooled_prior(pooled) for pool, pooled in by_measure.items()}
    return {
        name: by_pool[_pool(finding.claim)].of(finding.claim.published)
        for name, finding in findings.items()
    }


def _pool(claim: Claim) -> tuple[str, bool]:
    return claim.measure, claim.paper == "field"
