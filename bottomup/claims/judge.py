"""Verdicts on claims, a row each."""

import math
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import pandas as pd

from bottomup.claims import NotMeasuredError
from bottomup.claims.claim import Claim
from bottomup.claims.finding import Decided, Finding, find_all, of_condition, priors, rests_on
from bottomup.claims.inference import Prior, power
from bottomup.claims.looks import OF_PRUNED, Looks
from bottomup.claims.tables import Tables, objectives, seeds_of
from bottomup.claims.until import IN_OTHER_WORDS, until
from bottomup.claims.verdicts import Sure, corrected, surest
from bottomup.claims.words import (
    AGAINST,
    ALL,
    ESTIMATOR,
    LACKING,
    LEVEL,
    NOT_MEASURED,
    NOT_YET,
    REPRODUCED,
    UNDECIDED,
)
from bottomup.core import names

OF_CLAIM = (
    *("paper", "statement", "section", "measure", "statistic", "margin", "published"),
    *("published_as", "differs", "contradicted_if"),
)
COLUMNS = [
    *("claim", "paper", "statement", "section", "measure", "statistic"),
    *("differs", "value", "ci_low", "ci_high", "margin", "published", "published_as"),
    *("share", "share_low", "share_high", "power", "untrained"),
    *("added", "added_low", "added_high", "verdict", "otherwise", "uncorrected", "p_value"),
    *("provisional", "same_number_as", "not_ready"),
    *("specifications", "specifications_agree", "look", "runs", "seeds", "rests_on"),
    *("contradicted_if", "rank_correlation", "curves", "undecided_until"),
]
TEXTS = ["otherwise", "provisional", "not_ready", "seeds", "rests_on", "undecided_until"]


def judge(
    claims: Sequence[Claim],
    tables: Tables,
    initial: Mapping[str, str],
    correlations: pd.DataFrame,
    specified: pd.DataFrame,
    not_ready: Mapping[str, str],
    looks: Looks,
    lacking: Mapping[str, str],
) -> pd.DataFrame:
    """A row for each claim, with `COLUMNS`.

    initial: see `find_all`. correlations: those of our curves with the published ones, as from
    `comparison.correlate`; a claim has the mean over its curves. specified: these claims under
    every specification, as from `specifications.specify`. not_ready: by objective, why its models
    could still come to what they lack, as from `readiness`. looks: those of the study; what is
    decided at one stands, while the numbers are those of all runs. lacking: by table, why it is not
    there, or has no rows about words.

    Verdicts are corrected for the claims of one paper, see `verdicts.corrected`; `uncorrected` is
    the verdict on the claim alone, `otherwise` the one that models which are not ready would have.
    """
    findings, missing = find_all(claims, tables, initial)
    present = objectives(tables)
    about = {name: rests_on(finding, tables, present) for name, finding in findings.items()}
    resting = {*chain(*about.values())}
    trained = resting - {*initial.values()} or resting  # an initial model may have more seeds
    taken = looks.earlier(tables, seeds_of(tables, trained))
    at_looks = [*(find_all(claims, known, initial)[0] for known in taken), findings]
    priors_at = [*map(priors, at_looks)]
    decided_at = [*map(_decided, at_looks, priors_at)]
    n_looks = len(looks.planned)
    sure, at = _standing([_corrected(claims, decided, n_looks) for decided in decided_at])
    rows = []
    for claim in claims:
        name = claim.name
        row = {"claim": name} | {column: getattr(claim, column) for column in OF_CLAIM}
        row |= _agreement(claim, correlations)
        if name in missing:
            why = lacking.get(missing[name].table, "")
            rows.append(row | _not_measured(missing[name], why))
            continue
        finding, decisions, prior = findings[name], decided_at[-1][name], priors_at[-1][name]
        models = [*dict.fromkeys(map(names.whole, about[name]))]
        weak = [f"{model}: {not_ready[model]}" for model in models if model in not_ready]
        specifications = specified[specified["claim"] == name]
        row |= _numbers(finding, decisions) | _marks(finding, decisions, sure[name])
        row |= _agreeing(specifications, decisions.p.alone)
        row |= {"power": _power(finding, decisions, prior)}
        row |= {"look": at[name], "rests_on": " ".join(models)}
        row |= _verdict(sure[name].word, decisions.p.alone, specifications, weak)
        row["undecided_until"] = IN_OTHER_WORDS.get(row["verdict"], "")
        if row["verdict"] == UNDECIDED:
            of_paper = sum(other.claim.paper == claim.paper for other in findings.values())
            level = surest(of_paper) / n_looks
            row["undecided_until"] = _until(finding, decisions, prior, level, tables, about[name])
        rows.append(row)
    table = _counted_once(pd.DataFrame(rows, columns=COLUMNS), findings)
    return table.assign(**{name: table[name].astype(object).fillna("") for name in TEXTS})


def _decided(findings: Mapping[str, Finding], prior_of: Mapping[str, Prior]) -> dict[str, Decided]:
    return {name: finding.decided(prior_of[name]) for name, finding in findings.items()}


def _standing(looks: Sequence[Mapping[str, Sure]]) -> tuple[dict[str, Sure], dict[str, int]]:
    """What is sure of each claim after these looks, of which each decides what was open before; and
    the number of the look at which it came to be so, from 1."""
    sure: dict[str, Sure] = {}
    at: dict[str, int] = {}
    for look, found in enumerate(looks, start=1):
        for name, now in found.items():
            before = sure.get(name, Sure())
            sure[name] = before.then(now)
            if sure[name].word == UNDECIDED or sure[name].word != before.word:
                at[name] = look
    return sure, at


def _until(
    finding: Finding,
    decisions: Decided,
    prior: Prior,
    level: float,
    tables: Tables,
    about: Sequence[str],
) -> str:
    """What would decide a claim that is about these objectives."""
    measure = finding.claim.measure
    own = seeds_of({measure: tables[measure]}, about)
    of_first = len(own) == 1 < len(seeds_of(tables, about))
    of_first &= measure not in OF_PRUNED  # a look may prune more runs
    return until(finding, decisions, prior, level, tables[measure].text, of_first)


def _corrected(
    claims: Sequence[Claim], decided: Mapping[str, Decided], looks: int
) -> dict[str, Sure]:
    """What is sure of each measured claim, corrected for the number of claims on its paper and of
    looks."""
    sure: dict[str, Sure] = {}
    for paper in dict.fromkeys(claim.paper for claim in claims):
        of_paper = [claim.name for claim in claims if claim.paper == paper]
        sure |= corrected({name: decided[name].p for name in of_paper if name in decided}, looks)
    return sure


def _counted_once(rows: pd.DataFrame, findings: Mapping[str, Finding]) -> pd.DataFrame:
    """The rows with a column `same_number_as`: claims of a paper that rest on one number are one
    finding, so each of them names the first.

    Other text and other noise would move the statistics of such claims alike. Their intervals may
    differ: they are about other parts as well, or published in another size, by which runs are
    known to vary. Numbers that nothing moves are never one, since they may be equal by chance.
    """
    rows["same_number_as"] = ""
    moved = rows["claim"].map({name: _moved(of) for name, of in findings.items()})
    for _, same in rows.groupby(["paper", moved], sort=False):
        rows.loc[same.index[1:], "same_number_as"] = same["claim"].iloc[0]
    return rows


def _moved(finding: Finding) -> bytes | None:
    """How other text and other noise would move the part of a claim that is its statistic; None if
    they would not."""
    whole = finding.replicates.whole
    own = whole[whole[:, 0] == finding.claim.extreme(whole[:, 0])][0]
    return own.tobytes() if np.ptp(own) > 0 else None


def _numbers(finding: Finding, decisions: Decided) -> dict:
    numbers = {
        "value": decisions.own.value,
        "ci_low": decisions.own.low,
        "ci_high": decisions.own.high,
    }
    if decisions.initial:
        numbers["untrained"] = decisions.initial.value
    if decisions.added:
        numbers |= {"added": decisions.added.value}
        numbers |= {"added_low": decisions.added.low, "added_high": decisions.added.high}
    if finding.claim.has_published_size:
        of = finding.claim.published
        numbers |= {"share": decisions.own.value / of}
        numbers |= {"share_low": decisions.own.low / of, "share_high": decisions.own.high / of}
    return numbers | {"p_value": float(decisions.p.side)}


def _power(finding: Finding, decisions: Decided, prior: Prior) -> float:
    """The chance that this study finds the claim reproduced, without correction for other claims,
    if its statistic has the published size, and its initial models and its condition the values
    that they have here. NaN if that is not known."""
    claim = finding.claim
    if finding.unrepeated or finding.of_one_run(prior):
        return math.nan
    chances = [power(finding.parts, prior, claim.published, claim.margin, claim.one_of)]
    if finding.added and decisions.initial:
        added = claim.published - float(decisions.initial.value)
        chances.append(power(finding.added, prior, added, claim.margin))
    if known := finding.of_condition:
        usual = of_condition(claim, prior)
        chances.append(power(known, usual, known.values, claim.margin_of_condition))
    return float(np.min(chances))


def _agreeing(specifications: pd.DataFrame, alone: str) -> dict[str, int]:
    """How many specifications there are of a claim, and how many have this verdict alone."""
    agree = int((specifications["verdict"] == alone).sum())
    return {"specifications": len(specifications), "specifications_agree": agree}


def _marks(finding: Finding, decisions: Decided, sure: Sure) -> dict:
    """What a reader of the verdict must know."""
    marks = []
    if finding.parts.n_runs == 1 and finding.claim.across_seeds:
        marks.append("one pair of runs")
    elif finding.parts.n_runs == 1:
        marks.append(f"one run of {len(finding.asked)}" if finding.unrepeated else "one run")
    elif finding.parts.n_runs < len(finding.asked):
        marks.append(f"{finding.parts.n_runs} runs of {len(finding.asked)}")
    if sure.holds and sure.smaller:
        marks.append("smaller than published")
    if finding.claim.of_training and not finding.added:
        marks.append("no initial models beside it")
    elif finding.added and finding.added.n_runs < finding.parts.n_runs:
        marks.append("initial models beside some of its runs")
    if decisions.less_than_before:
        marks.append("holds, but less than before training")
    elif decisions.added and decisions.added.below <= LEVEL / 2 < decisions.own.below:
        marks.append("only less than before training")
    if decisions.condition and decisions.condition.above > LEVEL / 2:
        marks.append("its condition is not sure")
    if not finding.claim.of_training and _known_before(decisions):
        marks.append("holds before training, too")
    seeds = " ".join(map(str, finding.replicates.seeds))
    return {
        "provisional": ", ".join(marks),
        "runs": finding.parts.n_runs,
        "seeds": seeds,
    }


def _known_before(decisions: Decided) -> bool:
    """Whether initial models show it as well; models that the claim itself is about do not
    count."""
    initial = decisions.initial
    return bool(initial and initial.above <= LEVEL / 2 and initial.value != decisions.own.value)


def _verdict(word: str, alone: str, specifications: pd.DataFrame, not_ready: list[str]) -> dict:
    otherwise = ""
    # To leave a seed out is to use less data, not to analyze them in another way.
    verdicts = {alone, *specifications["verdict"][specifications["seeds"] == ALL]}
    if REPRODUCED in verdicts and not verdicts.isdisjoint(AGAINST):
        word = ESTIMATOR
    elif word in LACKING and not_ready:
        word, otherwise = NOT_YET, word
    return {
        "verdict": word,
        "otherwise": otherwise,
        "uncorrected": alone,
        "not_ready": "; ".join(not_ready),
    }


def _not_measured(error: NotMeasuredError, why: str) -> dict:
    return {
        "verdict": NOT_MEASURED,
        "uncorrected": NOT_MEASURED,
        "runs": 0,
        "specifications": 0,
        "specifications_agree": 0,
        "undecided_until": error.until(why),
    }


def _agreement(claim: Claim, correlations: pd.DataFrame) -> dict:
    by_curve = {names: _correlations(names, correlations) for names in claim.curves}
    values = pd.Series([value for part in by_curve.values() for value in part], dtype=float)
    known = [", ".join(names) for names, part in by_curve.items() if part]
    mean = values.mean() if len(values) else math.nan
    return {"rank_correlation": mean, "curves": "; ".join(known)}


def _correlations(names: tuple[str, ...], correlations: pd.DataFrame) -> list[float]:
    """The correlations of the curves with these names; of a figure with several quantities, those
    of its first."""
    first: dict[str, str] = {}
    return [
        row.rank_correlation
        for row in correlations.itertuples()
        if row.quantity == first.setdefault(row.figure, row.quantity)
        and set(names) <= {row.figure, row.panel, row.series}
    ]
