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
    one: Finding, how: Decided, prior: Prior, surest: float, text_of: str, of_first: bool
) -> str:
    """What would decide an undecided claim if the values stayed.

    surest: the level at which a claim is decided whatever others of its family are. text_of: the
    text of its table, and how to see more of it. of_first: whether its table is of the first seed
    alone, of several.
    """
    claim, larger = one.claim, one.claim.undecided_until
    if one.unrepeated and claim.across_seeds:
        return "a third run, for more than one pair"
    if one.unrepeated:
        return f"more than one of {len(one.asked)} runs has what it asks for"
    if how.unknown_runs and of_first:
        return OF_FIRST_SEED
    if how.unknown_runs:
        return "a second run tells how far runs are apart"
    if np.isnan(one.parts.text).any():
        return (
            f"more of the {text_of}: without one block of documents a value that it rests on is "
            f"missing; or {larger}"
        )
    alone = how.p.alone
    needed = _enough_for(one, alone, prior, LEVEL if alone == UNDECIDED else surest)
    beside = "" if alone == UNDECIDED else "alone it is decided; among all claims, "
    if not needed and alone == UNDECIDED and claim.has_published_size:
        needed, beside = _enough_for(one, SMALLER, prior, LEVEL), "that it is smaller: "
    if not needed:
        return f"the value is too near to none: {larger}"
    runs, text = max(needed[0], one.parts.n_runs + 1), needed[1]
    with_text = f" and {text:.1f} times the {text_of}" if text > 1 else ""
    return f"{beside}{runs} runs{with_text}, if the values stay; or {larger}"


def _enough_for(one: Finding, word: str, prior: Prior, level: float) -> tuple[int, float] | None:
    """What shows this word; of `UNDECIDED`, on which side it is."""
    claim = one.claim
    if word == SMALLER:
        short = replace(one.parts, values=one.parts.values - claim.published)
        return enough(short, prior, 0.0, claim.one_of, level)
    added = one.added if word in (UNDECIDED, REPRODUCED) else None
    condition = one.condition.evidence(one.blocks) if one.condition else None
    return enough_of_all(claim, prior, one.parts, added, condition, level)


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
