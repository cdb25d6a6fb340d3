"""What would decide a claim that a study leaves open."""

from dataclasses import replace

import numpy as np

from bottomup.claims.claim import Claim
from bottomup.claims.finding import Decided, Finding, of_condition
from bottomup.claims.inference import Evidence, Prior, enough
from bottomup.claims.readiness import READY
from bottomup.claims.words import (
    ESTIMATOR,
    LESS_THAN_BEFORE,
    LEVEL,
    NOT_YET,
    OF_FIRST_SEED,
    SMALLER,
    UNDECIDED,
)

IN_OTHER_WORDS = {
    NOT_YET: f"models are trained until {READY}",
    ESTIMATOR: "one specification is chosen before the study is run",
}


def until(
    finding: Finding, decisions: Decided, prior: Prior, surest: float, text_of: str, of_first: bool
) -> str:
    """What would decide an undecided claim if the values stayed.

    surest: the level at which a claim is decided whatever others of its family are. text_of: the
    text of its table, and how to see more of it. of_first: whether its table is of the first seed
    alone, of several.
    """
    claim, larger = finding.claim, finding.claim.undecided_until
    if finding.unrepeated and claim.across_seeds:
        return "a third run, for more than one pair"
    if finding.unrepeated:
        return f"more than one of {len(finding.asked)} runs has what it asks for"
    one_run = finding.of_one_run(prior)
    if one_run == "it" and of_first:
        return OF_FIRST_SEED
    if one_run == "it":
        return "a second run tells how far runs are apart"
    if one_run:
        return f"{one_run} has a second run, which tells how far runs are apart"
    if decisions.less_than_before:
        return LESS_THAN_BEFORE
    known = (finding.parts, finding.added, finding.of_condition)
    if any(np.isnan(evidence.text).any() for evidence in known if evidence):
        return (
            f"more of the {text_of}: without one block of documents a value that it rests on is "
            f"missing; or {larger}"
        )
    alone = decisions.p.alone
    needed = _enough_for(finding, alone, prior, LEVEL if alone == UNDECIDED else surest)
    beside = "" if alone == UNDECIDED else "alone it is decided; among all claims, "
    if not needed and alone == UNDECIDED and claim.has_published_size:
        needed, beside = _enough_for(finding, SMALLER, prior, LEVEL), "that it is smaller: "
    if not needed:
        return f"{_what_is_missing(finding)}: {larger}"
    runs, text = max(needed[0], finding.parts.n_runs + 1), needed[1]
    with_text = f" and {text:.1f} times the {text_of}" if text > 1 else ""
    return f"{beside}{runs} runs{with_text}, if the values stay; or {larger}"


def _what_is_missing(finding: Finding) -> str:
    """Why no number of runs would decide, if the values stayed."""
    claim, condition, added = finding.claim, finding.of_condition, finding.added
    if condition and not condition.values.min() > claim.margin_of_condition:
        return "its condition is not met"
    holds = claim.extreme(finding.parts.values) > claim.margin
    if added and holds and not added.values.min() > claim.margin:
        return "training does not add to it"
    return "the value is too near to none"


Enough = tuple[int, float] | None  # see `inference.enough`


def _enough_for(finding: Finding, word: str, prior: Prior, level: float) -> Enough:
    """How many runs, and how much text, would show this word; for `UNDECIDED`, on which side the
    statistic is."""
    claim, parts = finding.claim, finding.parts
    if word != SMALLER:
        return enough_of_all(claim, prior, parts, finding.added, finding.of_condition, level)
    short = replace(parts, values=parts.values - claim.published)
    smaller = None
    if claim.extreme(short.values) < 0:
        smaller = enough(short, prior, 0.0, claim.one_of, level)
    return _most([smaller, *_enough_for_condition(claim, prior, finding.of_condition, level)])


def enough_of_all(
    claim: Claim,
    prior: Prior,
    parts: Evidence,
    added: Evidence | None,
    condition: Evidence | None,
    level: float = LEVEL,
) -> Enough:
    """How many runs, and how many times the text, decide on the parts of a claim, on what training
    adds if they speak for it, and on its condition, of which the last two may be missing; see
    `inference.enough`."""
    wanted = [enough(parts, prior, claim.margin, claim.one_of, level)]
    if added and claim.extreme(parts.values) > 0:
        wanted.append(_enough_above(added, prior, claim.margin, level))
    return _most([*wanted, *_enough_for_condition(claim, prior, condition, level)])


def _enough_for_condition(
    claim: Claim, prior: Prior, condition: Evidence | None, level: float
) -> list[Enough]:
    if not condition:
        return []
    of_runs = of_condition(claim, prior)
    return [_enough_above(condition, of_runs, claim.margin_of_condition, level)]


def _enough_above(evidence: Evidence, prior: Prior, margin: float, level: float) -> Enough:
    """How many runs, and how much text, would show that all parts are above the margin; None if one
    is not positive."""
    return enough(evidence, prior, margin, level=level) if evidence.values.min() > 0 else None


def _most(wanted: list[Enough]) -> Enough:
    """The runs and the text that are enough for all of these; None if one has no such number."""
    if not all(wanted):
        return None
    runs, text = zip(*wanted, strict=True)
    return max(runs), max(text)
