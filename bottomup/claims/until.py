"""What would decide a claim that a study leaves open."""

from dataclasses import replace

import numpy as np

from bottomup.claims.claim import Claim
from bottomup.claims.finding import Decided, Finding, of_condition
from bottomup.claims.inference import Evidence, Prior, enough
from bottomup.claims.readiness import READY
from bottomup.claims.words import (
    ESTIMATOR,
    LEVEL,
    NOT_YET,
    OF_FIRST_SEED,
    REPRODUCED,
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
    if decisions.unknown_runs and of_first:
        return OF_FIRST_SEED
    if decisions.unknown_runs:
        return "a second run tells how far runs are apart"
    if np.isnan(finding.parts.text).any():
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
        return f"the value is too near to none: {larger}"
    runs, text = max(needed[0], finding.parts.n_runs + 1), needed[1]
    with_text = f" and {text:.1f} times the {text_of}" if text > 1 else ""
    return f"{beside}{runs} runs{with_text}, if the values stay; or {larger}"


def _enough_for(
    finding: Finding, word: str, prior: Prior, level: float
) -> tuple[int, float] | None:
    """What shows this word; of `UNDECIDED`, on which side it is."""
    claim = finding.claim
    if word == SMALLER:
        short = replace(finding.parts, values=finding.parts.values - claim.published)
        return enough(short, prior, 0.0, claim.one_of, level)
    added = finding.added if word in (UNDECIDED, REPRODUCED) else None
    condition = finding.condition.evidence(finding.blocks) if finding.condition else None
    return enough_of_all(claim, prior, finding.parts, added, condition, level)


def enough_of_all(
    claim: Claim,
    prior: Prior,
    parts: Evidence,
    added: Evidence | None,
    condition: Evidence | None,
    level: float = LEVEL,
) -> tuple[int, float] | None:
    """How many runs, and how many times the text, decide on the parts of a claim, on what training
    adds and on its condition, of which the last two may be missing; see `inference.enough`."""
    wanted = [enough(parts, prior, claim.margin, claim.one_of, level)]
    if added:
        wanted.append(enough(added, prior, claim.margin, level=level))
    if condition:
        of_runs = of_condition(claim, prior)
        wanted.append(enough(condition, of_runs, claim.margin_of_condition, level=level))
    if not all(wanted):
        return None
    runs, text = zip(*wanted, strict=True)
    return max(runs), max(text)
