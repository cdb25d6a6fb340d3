"""The page of claims: each with its verdict and the evidence for it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, isnan, nan
from typing import NamedTuple

import pandas as pd
from pydantic import Field

from bottomup.claims import words
from bottomup.claims.words import PAPERS
from bottomup.core.errors import UserError
from bottomup.core.plurals import plural
from bottomup.core.settings import Section
from bottomup.pages import render
from bottomup.pages.signs import VERDICTS

NUMBERS = [
    *("value", "ci_low", "ci_high", "margin", "published", "untrained"),
    *("share", "share_low", "share_high", "power", "added", "added_low", "added_high"),
    *("p_value", "rank_correlation", "look", "runs"),
    *("specifications", "specifications_agree"),
]
TEXTS = [
    *("claim", "paper", "statement", "section", "measure", "statistic", "verdict", "uncorrected"),
    *("differs", "otherwise", "provisional", "published_as", "same_number_as", "not_ready"),
    *("seeds", "rests_on", "contradicted_if", "curves", "undecided_until"),
]
SPECIFICATION = ("claim", "estimator", "layers", "seeds", "value", "ci_low", "ci_high", "verdict")
DRAWN = {
    "value": "our models",
    "ci_low": "from",
    "ci_high": "to",
    "margin": "margin",
    "published": "the paper’s models",
    "stand_in": "in place of the paper’s models",
    "untrained": "before training",
}
REACH = 140  # distance of the furthest mark from 0, which is in the middle of a picture
# The size of the picture of a specification curve, and the largest step from one point to the next.
CURVE_WIDTH, CURVE_HEIGHT, MOST_STEP = 300, 60, 14
# The marks of the legend: where they lie, what they are, the middle of its picture, and its look.
INTERVAL = {"value": 0, "ci_low": -16, "ci_high": 16}
LEGEND = [
    (INTERVAL, "our models, 95 % interval", 19, ""),
    (INTERVAL, "provisional", 19, "provisional"),
    ({"zero": 0, "margin": 12}, "margin: less counts as no effect", 19, ""),
    ({"published": 0}, "the paper’s models", 7, ""),
    ({"stand_in": 0}, "in their place: a size of something alike, or assumed", 7, ""),
    ({"untrained": 0}, "our models before training", 31, ""),
]


class Figure(Section):
    """A figure: its name, its tables (paths in the study's folder) and its published curves."""

    name: str
    tables: list[str]
    published: list[str]


class Objective(Section):
    """The runs of an objective. tokens: how many each was trained on, in words; None if it was not,
    or if only its text tells. shape: the keys and values in which the shape of their models is
    their own."""

    seeds: list[int]
    tokens: str | None = None
    shape: dict[str, str | int | float] = Field(default={})

    @property
    def size(self) -> str:
        n = len(self.seeds)
        seeds = f"{n} {plural('seed', n)}"
        tokens = [] if self.tokens is None else [f"{self.tokens} tokens"]
        return ", ".join([seeds, *tokens, *(f"{key} {of}" for key, of in self.shape.items())])


class Size(Section):
    """How large a study is: its name, the shape of its models, the runs of each objective,
    checkpoints beside them, and other studies that studies.html shows."""

    study: str
    model: dict[str, int]
    objectives: dict[str, Objective]
    checkpoints: list[str]
    beside: list[str]


class Study(Size):
    """What the page says of its study: also its figures, and the names of the tables that claims
    read; the objectives that are also trained on halves of the text, and which PWCCA compares these
    (values by column)."""

    figures: list[Figure]
    tables: list[str]
    halves: list[str]
    pwcca: dict[str, str]


def page(
    claims: pd.DataFrame, specifications: pd.DataFrame, study: Study, notes: Sequence[str] = ()
) -> str:
    """The page, to lie in the study's folder: what its study is, the count of claims by paper and
    verdict, and a row for each claim, by paper and then in their order, with its evidence drawn.

    Columns are as in `claims.csv`; a missing number has no mark. specifications: those of each
    claim, with the columns of `specifications.csv`. notes: sentences on what no interval stands
    for.

    Raises UserError if a column is missing, or a verdict or a paper is unknown.
    """
    require_columns("specifications", specifications, SPECIFICATION)
    claims = checked(claims)
    return render(
        "claims.html",
        study=study,
        notes=notes,
        grown=(claims["look"] > 1).any(),
        counts=counts(claims),
        meaning=words.MEANING,
        looks=VERDICTS,
        legend=[(_marks(places), *others) for places, *others in LEGEND],
        rows=_rows(claims, specifications, study),
    )


def require_columns(name: str, table: pd.DataFrame, needed: Sequence[str]) -> None:
    if missing := [column for column in needed if column not in table]:
        raise UserError(
            f"the {name} have no column {', '.join(missing)}, which the page reads; judge the "
            "claims again"
        )


def checked(claims: pd.DataFrame, name: str = "claims") -> pd.DataFrame:
    """The claims by paper, with numbers as numbers and "" where a text is missing.

    name: what messages call them.

    Raises UserError if a column is missing, or a verdict or a paper is unknown.
    """
    require_columns(name, claims, (*TEXTS, *NUMBERS))
    for column, known in (("verdict", VERDICTS), ("paper", PAPERS)):
        unknown = sorted(set(claims[column]) - set(known))
        if unknown:
            raise UserError(
                f"{column} {', '.join(unknown)} in the {name}; allowed: {', '.join(known)}; "
                f"judge the claims again"
            )
    claims = claims.astype(dict.fromkeys(NUMBERS, float))
    claims[TEXTS] = claims[TEXTS].astype(object).where(claims[TEXTS].notna(), "")
    return claims.sort_values("paper", key=lambda papers: papers.map(_rank(PAPERS)), kind="stable")


def figures_of(claim: dict, figures: Sequence[Figure]) -> list[str]:
    """The names of the figures that show a claim: those with the published figure that its section
    names, or else all that are drawn from its table or called like it."""
    named = set(re.findall(r"figure (\w+)", claim["section"]))
    shown = [figure.name for figure in figures if named & set(figure.published)]
    table = f"measures/{claim['measure']}.csv"
    return shown or [
        figure.name
        for figure in figures
        if table in figure.tables or figure.name == claim["measure"]
    ]


def counts(claims: pd.DataFrame) -> list[dict]:
    """For each paper its name, its title, the total in words, and how many claims have each
    verdict. Claims that rest on the number of another do not count."""
    return [
        counted(paper.capitalize(), PAPERS[paper], part)
        for paper, part in claims.groupby("paper", sort=False)
    ]


def counted(name: str, title: str, claims: pd.DataFrame) -> dict:
    """An entry of `counts`, of any claims."""
    verdicts = claims[claims["same_number_as"] == ""]["verdict"]
    by_verdict = {verdict: int((verdicts == verdict).sum()) for verdict in VERDICTS}
    return {"name": name, "title": title, "total": _total(claims), "verdicts": by_verdict}


def _total(claims: pd.DataFrame) -> str:
    total = f"{len(claims)} {plural('claim', len(claims))}"
    if repeated := (claims["same_number_as"] != "").sum():
        total += f", {repeated} by the number of another and not counted"
    if provisional := (claims["provisional"] != "").sum():
        total += f", {provisional} provisional"
    return total


def _rank(names: Iterable[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


def _rows(claims: pd.DataFrame, specifications: pd.DataFrame, study: Study) -> list[dict]:
    """The claims, each with its picture, its texts, and the keys that the page sorts by."""
    ranks = {
        "verdict": _rank(VERDICTS),
        "measure": _rank(sorted(set(claims["measure"]))),
        "paper": _rank(PAPERS),
    }
    by_claim = {name: rows.to_dict("records") for name, rows in specifications.groupby("claim")}
    rows = []
    for n, claim in enumerate(claims.to_dict("records")):
        specified = by_claim.get(claim["claim"], [])
        keys = {name: rank[claim[name]] for name, rank in ranks.items()} | {"place": n}
        drawn = {"picture": picture(claim), "curve": curve(claim, specified)}
        texts = {"numbers": shown_value(claim), "details": _details(claim, specified)}
        texts["figures"] = figures_of(claim, study.figures)
        has_table = claim["measure"] in study.tables
        rows.append(claim | drawn | texts | {"keys": keys, "has_table": has_table})
    return rows


def _details(claim: dict, specified: list[dict]) -> dict[str, str]:
    """What is known of a claim, by its heading."""
    added = _with_interval(claim["added"], claim["added_low"], claim["added_high"])
    share = _with_interval(claim["share"], claim["share_low"], claim["share_high"], ".0%")
    seeds = f" (seeds {claim['seeds']})" if claim["seeds"] else ""
    curves = f" ({claim['curves']})" if claim["curves"] else ""
    entries = {
        "Statistic": claim["statistic"],
        "Differs from the sentence": claim["differs"],
        "Our models": shown_value(claim),
        "Margin": shown_number(claim["margin"]),
        "Before training": shown_number(claim["untrained"]),
        "Training adds": added,
        "The paper’s models": shown_number(claim["published"], after=_published_as(claim)),
        "Share of that": share,
        "Power at that size": shown_number(claim["power"], ".0%"),
        "p-value": shown_number(claim["p_value"], ".2g"),
        "If the models were ready": claim["otherwise"],
        "Models not ready": claim["not_ready"],
        "Same number as": claim["same_number_as"],
        "Verdict without correction": claim["uncorrected"],
        "Specifications": _agreement(claim, specified),
        "Contradicted if": claim["contradicted_if"],
        "What would decide it": claim["undecided_until"],
        "Rank correlation": shown_number(claim["rank_correlation"], ".2f", curves),
        "Runs": shown_number(claim["runs"], ".0f", seeds),
        "Look": shown_number(claim["look"], ".0f"),
        "Models": claim["rests_on"],
        "Section": claim["section"],
        "Name": claim["claim"],
    }
    return {term: text for term, text in entries.items() if text}


def _agreement(claim: dict, specified: list[dict]) -> str:
    """How many specifications have the verdict, and which have which other."""
    if len(specified) < 2:
        return ""
    others: dict[str, list[str]] = {}
    for one in specified:
        if one["verdict"] != claim["uncorrected"]:
            others.setdefault(one["verdict"], []).append(_choices(one))
    phrases = [f"{verdict}: {', '.join(names)}" for verdict, names in others.items()]
    return "; ".join([_agree(claim), *phrases])


def _agree(claim: dict) -> str:
    agree, all_of_them = claim["specifications_agree"], claim["specifications"]
    return f"{agree:.0f} of {all_of_them:.0f} specifications agree"


def _choices(one: dict) -> str:
    """The choices in which a specification differs from that of the verdict, in words."""
    usual = {"estimator": words.AS_JUDGED, "layers": words.THIRDS, "seeds": words.ALL}
    return " and ".join(one[choice] for choice, name in usual.items() if one[choice] != name)


def shown_value(claim: dict) -> str:
    """The value of a claim with its interval."""
    return _with_interval(claim["value"], claim["ci_low"], claim["ci_high"]) or "not measured"


def _published_as(claim: dict) -> str:
    return f" ({words.PUBLISHED_AS[claim['published_as']]})" if claim["published_as"] else ""


def _with_interval(value: float, low: float, high: float, digits: str = ".3g") -> str:
    known = pd.notna(low) and pd.notna(high)
    interval = f" ({shown_number(low, digits)} to {shown_number(high, digits)})" if known else ""
    return shown_number(value, digits, interval)


def shown_number(value: float, digits: str = ".3g", after: str = "") -> str:
    return "" if pd.isna(value) else f"{value:{digits}}".replace("-", "−") + after


def picture(claim: dict) -> dict | None:
    """What is drawn of the value with its interval, and the values to compare it with: `label`, in
    words, and `marks`, where each lies; what stands in for a published value has a mark of its own.

    0 is in the middle; the furthest mark, or an infinite end of an interval, is `REACH` from it.
    None if nothing is known.
    """
    if claim["published_as"] not in words.SIZES:
        claim = claim | {"published": nan, "stand_in": claim["published"]}
    known = {name: claim[name] for name in DRAWN if not isnan(claim.get(name, nan))}
    furthest = max((abs(number) for number in known.values() if isfinite(number)), default=0)
    if not furthest:
        return None
    label = ", ".join(f"{DRAWN[name]} {shown_number(number)}" for name, number in known.items())
    known["zero"] = 0
    places = {name: REACH * max(-1, min(1, number / furthest)) for name, number in known.items()}
    return {"label": label, "marks": _marks(places)}


def _marks(places: Mapping[str, float]) -> dict[str, str]:
    return {name: f"{place:.1f}" for name, place in places.items()}


def curve(claim: dict, specified: list[dict]) -> dict | None:
    """What is drawn of the specifications of a claim: values with intervals, lowest first, in the
    color of their verdicts; the margin, 0 and the published value as lines across. None if there is
    one specification, or none.

    specified: the specifications, the claim as it is judged first. Returns the size of the picture,
    `label` and `agree` in words, the heights of `levels` by name, the paths of `bounds` and
    `points` by verdict, and where the `own` specification is.
    """
    if len(specified) < 2:
        return None
    own, *_ = specified
    levels = {"zero": 0.0, "margin": claim["margin"], "published": claim["published"]}
    levels = {name: level for name, level in levels.items() if not isnan(level)}
    # Other intervals do not set the scale: one of two runs is so long that all else would be flat.
    shown = [*levels.values(), *(one["value"] for one in specified), own["ci_low"], own["ci_high"]]
    shown = [number for number in shown if isfinite(number)]
    height = Height(min(shown), max(shown))
    step = min(MOST_STEP, CURVE_WIDTH / len(specified))
    first = (CURVE_WIDTH - step * (len(specified) - 1)) / 2
    ordered = sorted(specified, key=lambda one: one["value"])
    placed = [(first + step * place, one) for place, one in enumerate(ordered)]
    by_verdict: dict[str, list[tuple[float, dict]]] = {}
    for x, one in placed:
        by_verdict.setdefault(one["verdict"], []).append((x, one))
    return {
        "width": CURVE_WIDTH,
        "height": CURVE_HEIGHT,
        "label": _agreement(claim, specified),
        "agree": _agree(claim),
        "levels": {name: height.of(level) for name, level in levels.items()},
        "bounds": {
            verdict: "".join(height.interval(x, one) for x, one in of_it)
            for verdict, of_it in by_verdict.items()
        },
        "points": {
            verdict: "".join(f"M{x:.1f} {height.of(one['value'])}h0" for x, one in of_it)
            for verdict, of_it in by_verdict.items()
        },
        "own": next((f"{x:.1f}", height.of(one["value"])) for x, one in placed if one is own),
    }


class Height(NamedTuple):
    """The scale of a specification curve: what is at its bottom and at its top."""

    low: float
    high: float

    def of(self, number: float) -> str:
        """How far a number is below the upper edge, within the picture."""
        share = (self.high - number) / (self.high - self.low or 1)
        inner = 5 + share * (CURVE_HEIGHT - 10)
        return f"{max(0.0, min(CURVE_HEIGHT, inner)):.1f}"

    def interval(self, x: float, one: dict) -> str:
        """A line from one end to the other; none without an interval."""
        if isnan(one["ci_low"]):
            return ""
        return f"M{x:.1f} {self.of(one['ci_high'])}V{self.of(one['ci_low'])}"
