"""The claims with their verdicts and the evidence, as a self-contained HTML page."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from math import isfinite, isnan
from typing import NamedTuple

import pandas as pd

from bottomup.claims import words
from bottomup.errors import UserError
from bottomup.settings import Section

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
PAPERS = {
    "evolution": "Voita, Sennrich, Titov 2019: The Bottom-up Evolution of Representations",
    "heads": "Voita, Talbot, Moiseev, Sennrich, Titov 2019: Analyzing Multi-Head Self-Attention",
    "heads, asked anew": "The same asked of LM and MLM, and of other ways to choose heads",
    "beyond": "Beyond the papers",
}


class Figure(Section):
    """A figure: its name, its tables (paths in the study's folder) and its published curves."""

    name: str
    tables: list[str]
    published: list[str]


class Objective(Section):
    """The runs of an objective: their seeds, and the tokens that each was trained on, if any."""

    seeds: list[int]
    tokens: int | None


class Study(Section):
    """What the page says of its study: its name, the shape of its models, the runs of each
    objective, checkpoints beside them, the words of held-out text, and its figures; the objectives
    that are also trained on halves of the text, and which PWCCA compares these (values by column).
    """

    study: str
    model: dict[str, int]
    objectives: dict[str, Objective]
    checkpoints: list[str]
    test_words: int
    figures: list[Figure]
    halves: list[str]
    pwcca: dict[str, str]


class Place(NamedTuple):
    """Where a page stands: the links to a figure and to a table, if it has one, by name, and
    whether other parts of the page link to its rows."""

    figure: str
    table: str | None
    rows: bool


BESIDE_RESULTS = Place("figures/{}.png", "measures/{}.csv", rows=False)
AMONG_FIGURES = Place("#figure-{}", None, rows=True)


class Sign(NamedTuple):
    """How a verdict is drawn in a box of 20 by 20: its color, its shape and the strokes in it."""

    color: str
    shape: str
    stroke: str


CIRCLE = "M10 1a9 9 0 1 0 0 18a9 9 0 1 0 0-18z"
SQUARE = "M2 2h16v16h-16z"
DIAMOND = "M10 0l10 10l-10 10l-10-10z"
# Shape and strokes alone tell them apart, with any color vision and in gray print.
VERDICTS = {
    words.REPRODUCED: Sign("#0072B2", CIRCLE, "M6 10.5l3 3l5-7"),
    words.SMALLER: Sign("#56B4E9", CIRCLE, "M13 5l-6 5l6 5"),
    words.ABSENT: Sign("#E69F00", SQUARE, "M5 10h10"),
    words.CONTRADICTED: Sign("#D55E00", SQUARE, "M6 6l8 8m0-8l-8 8"),
    words.NOT_YET: Sign("#009E73", DIAMOND, "M10 5v5l3 3"),
    words.ESTIMATOR: Sign("#CC79A7", DIAMOND, "M6 8h8m-8 4h8m-1.5-6.5l-5 9"),
    words.UNDECIDED: Sign(
        "#7f7f7f", CIRCLE, "M7.3 7.8a2.7 2.7 0 1 1 4.3 2.2q-1.6 1-1.6 2.4m0 2.4v.6"
    ),
    words.NOT_MEASURED: Sign("#b0b0b0", SQUARE, "M6 14l8-8"),
}
DRAWN = {
    "value": "our models",
    "ci_low": "from",
    "ci_high": "to",
    "margin": "margin",
    "published": "the paper’s models",
    "untrained": "before training",
}
REACH = 140  # distance of the furthest mark from 0, which is in the middle of a picture
# The picture of a specification curve, from the left edge and downwards; steps along it.
CURVE_WIDTH, CURVE_HEIGHT, MOST_STEP = 300, 60, 14
COLUMNS = {
    "verdict": "Verdict",
    "claim": "Claim",
    "picture": '<span class="sides"><span>← against</span><span>for →</span></span>',
    "measure": "Measure",
    "paper": "Paper",
}
SORTED_BY = ("verdict", "measure", "paper")
COUNTED = """<p>The counts are of sentences of each paper, by what this study says of them. Two that
rest on one number count once. A provisional one counts, but something beside its verdict must be
known: open it.</p>"""
INTRODUCTION = """<p>Every claim rests on a statistic that is above 0 as far as the claim holds.
Each picture shows it on its own scale, with 0 in the middle: what lies to the right speaks for
the claim, what lies to the left against it. Open a claim to see its numbers. <i>Surely</i> means by
more than chance, given how many claims are asked at once: of the verdicts on one paper that a claim
lies on either side, of those that it is contradicted, and of those that it is smaller than
published, one in twenty is expected to be wrong at most. This is the false discovery rate, held by
the procedure of Benjamini and Yekutieli (2001).</p>
<p>Below each picture is a specification curve: the statistic under every choice of analysis that
the tables allow, that is, other estimators, other parts of the layers for bottom and top, each seed
left out. Values are sorted, higher speaks for the claim. Each has its interval, cut where it leaves
the picture, in the color of its verdict, which is not corrected. The ring is the choice that the
claim is judged by.</p>"""
# No script element and no ids: the report embeds this page in a script, beside other pages.
SORT = """
const button = event.target.closest('th button');
if (button) {
  const head = button.parentNode, rows = this.querySelector('.evidence tbody');
  const ascending = head.getAttribute('aria-sort') !== 'ascending';
  const order = (a, b) => a.dataset[head.dataset.key] - b.dataset[head.dataset.key];
  for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
  rows.append(...[...rows.rows].sort((a, b) =>
    (ascending ? order(a, b) : order(b, a)) || a.dataset.place - b.dataset.place));
}
"""
DARK = """
html:has(> body > .claims) { color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  html:has(> body > .claims) { background: #16181c; }
  body > .claims { --paper: #16181c; --ink: #e9e7e2; --faint: #a9a9a6; --line: #3d4147; }
  body > .claims { --link: #85c5f2; --bright: 1.5; }
}
"""
STYLE = """
.claims { max-width: 76rem; margin: 0 auto; padding: 0 .5rem 3rem; background: var(--paper, #fff); }
.claims { color: var(--ink, #1a1a1a); font: 15px/1.45 system-ui, sans-serif; }
.claims { overflow-wrap: break-word; }
.claims { container: claims / inline-size; }
.claims * { box-sizing: border-box; }
.claims p { max-width: 46rem; margin: .8rem 0; }
.claims svg { display: inline-block; margin: 0; overflow: visible; vertical-align: middle; }
.claims .sign { width: 1.15em; height: 1.15em; margin-right: .4em; vertical-align: -.22em; }
.claims .sign .shape { fill: var(--color); stroke: var(--color); stroke-width: 1.5; }
.claims .sign .stroke { fill: none; stroke: #fff; stroke-width: 2; stroke-linecap: round; }
.claims .provisional .sign .shape { fill: var(--paper, #fff); stroke-dasharray: 3 2; }
.claims .provisional .sign .stroke { stroke: var(--color); }
.claims table { width: 100%; border-collapse: collapse; margin: 1rem 0; font-size: inherit; }
.claims th, .claims td { padding: .55rem 1.2rem .55rem 0; text-align: left; vertical-align: top; }
.claims tr { border-bottom: 1px solid var(--line, #dcdcdc); }
.claims .counts { width: auto; margin-top: 0; }
.claims .counts td { padding: .25rem 1.1rem .25rem 0; }
.claims .counts td { white-space: nowrap; vertical-align: baseline; }
.claims .counts td:first-child { white-space: normal; padding-right: 1.5rem; }
.claims .counts small { display: block; color: var(--faint, #595959); font-size: .8em; }
.claims .legend { display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin: .8rem 0; padding: 0; }
.claims .legend li { display: flex; align-items: center; gap: .3rem; margin: 0; padding: 0; }
.claims fieldset { border: 0; margin: 1.4rem 0 0; padding: 0; }
.claims fieldset { display: flex; flex-wrap: wrap; gap: .4rem; align-items: center; }
.claims legend { float: left; margin-right: .6rem; padding: 0; }
.claims label { border: 1px solid #8c8c8c; border-radius: 1rem; padding: .25rem .8rem; }
.claims label { cursor: pointer; }
.claims label:has(:checked) { border-color: var(--ink, #1a1a1a); box-shadow: inset 0 0 0 1px; }
.claims label:has(:focus-visible) { outline: 3px solid #56B4E9; outline-offset: 1px; }
.claims label input { position: absolute; opacity: 0; }
.claims thead th { position: sticky; top: 0; z-index: 1; background: var(--paper, #fff); }
.claims thead th { box-shadow: inset 0 -2px; white-space: nowrap; }
.claims th button { all: unset; cursor: pointer; font-weight: bold; }
.claims th button::after { content: " ↕"; color: var(--faint, #767676); }
.claims th[aria-sort=ascending] button::after { content: " ↑"; color: inherit; }
.claims th[aria-sort=descending] button::after { content: " ↓"; color: inherit; }
.claims th button:focus-visible, .claims summary:focus-visible { outline: 3px solid #56B4E9; }
.claims .sides { display: flex; justify-content: space-between; width: 300px; }
.claims .verdict { width: 10.2rem; font-weight: bold; }
.claims .verdict small { display: block; width: fit-content; padding: 0 .5em; }
.claims .verdict small { margin: .3rem 0 0 1.55rem; }
.claims .verdict small { border: 1.5px dashed; border-radius: 3px; font-size: .87em; }
.claims .picture { width: 20rem; }
.claims .measure, .claims .paper { width: 7.2rem; }
.claims td:is(.measure, .paper), .claims .numbers { color: var(--faint, #595959); }
.claims td:is(.measure, .paper), .claims .numbers { font-size: .87em; }
.claims .numbers { display: block; text-align: center; font-variant-numeric: tabular-nums; }
.claims summary { cursor: pointer; }
.claims a { color: var(--link, #00598f); }
.claims .meanings { max-width: 60rem; font-size: .93em; }
.claims .meanings dt { color: inherit; }
.claims dl { display: grid; grid-template-columns: 12rem 1fr; gap: .3rem 1rem; }
.claims dl { margin: .7rem 0 .3rem; font-size: .93em; }
.claims dt { color: var(--faint, #595959); font-weight: normal; }
.claims dt, .claims dd { margin: 0; padding: 0; min-width: 0; }
.claims .zero { stroke: var(--ink, #1a1a1a); }
.claims .margin { fill: var(--line, #e3e3e3); }
.claims .interval { fill: none; stroke: var(--color); stroke-width: 2; }
.claims .value { fill: var(--color); stroke: var(--color); stroke-width: 2; }
.claims .provisional .value { fill: var(--paper, #fff); }
.claims .published { fill: var(--ink, #1a1a1a); }
.claims .untrained { fill: var(--paper, #fff); stroke: var(--ink, #1a1a1a); stroke-width: 1.3; }
.claims .curve { display: block; margin-top: .4rem; overflow: hidden; }
.claims .bounds { fill: none; stroke: var(--color); stroke-width: 1.5; opacity: .6; }
.claims .points { fill: none; stroke: var(--color); stroke-width: 5; stroke-linecap: round; }
.claims :is(.bounds, .points, .interval) { filter: brightness(var(--bright, 1)); }
.claims .own { fill: none; stroke: var(--ink, #1a1a1a); stroke-width: 1.5; }
.claims .level { fill: none; stroke: var(--ink, #1a1a1a); stroke-width: .8; }
.claims .level.at-margin { stroke-dasharray: 2 3; }
.claims .level.at-published { stroke-dasharray: 7 3; }
@container claims (max-width: 62rem) {
  .claims .evidence, .claims .evidence tbody { display: block; }
  .claims .evidence :is(thead, td) { display: block; }
  .claims .evidence thead tr { display: flex; flex-wrap: wrap; gap: .3rem 1rem; }
  .claims .evidence thead tr::before { content: "Sort by"; padding: .4rem 0; }
  .claims .evidence thead th { position: static; box-shadow: none; width: auto; padding: .4rem 0; }
  .claims .evidence thead th:not([data-key]) { display: none; }
  .claims .evidence tbody tr { display: grid; grid-template-columns: 1fr auto; gap: .4rem 1rem; }
  .claims .evidence tbody tr { padding: .9rem 0; }
  .claims .evidence td { width: auto; padding: 0; }
  .claims .evidence td:is(.verdict, .claim, .picture) { grid-column: 1 / -1; }
  .claims .picture svg { width: 100%; max-width: 300px; height: auto; }
  .claims .picture { max-width: 300px; }
  .claims .counts tr { display: flex; flex-wrap: wrap; padding: .4rem 0; }
  .claims .counts td { padding: .1rem 1.2rem .1rem 0; }
  .claims .counts td:first-child { width: 100%; }
  .claims .counts td:empty { display: none; }
  .claims dl { grid-template-columns: 1fr; gap: 0; }
  .claims dd { margin-bottom: .5rem; }
}
"""


def page(
    claims: pd.DataFrame, specifications: pd.DataFrame, study: Study, notes: Sequence[str] = ()
) -> str:
    """The page, to lie in the study's folder: `section`, with what its study is.

    notes: sentences on what no interval stands for.
    """
    rows = claims.astype({"section": object}).fillna({"section": ""}).to_dict("records")
    claims = claims.assign(figures=[figures_of(claim, study.figures) for claim in rows])
    about = _size(study) + "".join(f"<p>{escape(note)}</p>" for note in notes)
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Claims of the study {escape(study.study)}</title>\n<style>{DARK}</style>\n"
        f"{section(claims, specifications, BESIDE_RESULTS, about)}</html>\n"
    )


def figures_of(claim: dict, figures: Sequence[Figure]) -> list[str]:
    """The names of the figures that show a claim: those with the published figure that its section
    names, or else all that are drawn from its table."""
    named = set(re.findall(r"figure (\w+)", claim["section"]))
    shown = [figure.name for figure in figures if named & set(figure.published)]
    table = f"measures/{claim['measure']}.csv"
    return shown or [figure.name for figure in figures if table in figure.tables]


def _size(study: Study) -> str:
    """The study's name and size, in a paragraph."""
    told = [f"{name} ({_runs(runs)})" for name, runs in study.objectives.items()]
    told += [f"the checkpoint {name}" for name in study.checkpoints]
    shape = ""
    if study.objectives:
        shape = "Transformers of {layers} layers, {heads} heads and width {d_model}: "
    text = f"{shape.format(**study.model)}{', '.join(told)}. {study.test_words:,} words held out."
    return f"<p>Study <b>{escape(study.study)}</b>. {escape(text)}</p>"


def _runs(objective: Objective) -> str:
    n = len(objective.seeds)
    seeds = f"{n} seed{'s' if n > 1 else ''}"
    return seeds if objective.tokens is None else f"{seeds}, {objective.tokens:,} tokens"


def section(
    claims: pd.DataFrame, specifications: pd.DataFrame, place: Place, study: str = ""
) -> str:
    """Part of a page: the count of claims by paper and verdict, a legend, and a row for each of
    `claims`, by paper and then in their order, with its evidence drawn.

    Columns are as in `claims.csv`, and `figures`, lists of names; a missing number has no mark. A
    row that is linked to has the id `claim-<claim>`. A page may set the colors --paper, --ink,
    --line, --faint, --link and --bright. specifications: those of each claim, with the columns of
    `specifications.csv`. study: paragraphs on it.

    Raises UserError if a column is missing, or a verdict or a paper is unknown.
    """
    _check(claims, specifications)
    claims = claims.astype(dict.fromkeys(NUMBERS, float))
    claims[TEXTS] = claims[TEXTS].astype(object).where(claims[TEXTS].notna(), "")
    claims = claims.sort_values(
        "paper", key=lambda papers: papers.map(_rank(PAPERS)), kind="stable"
    )
    return (
        f"<style>{STYLE}{_filters()}</style>\n"
        f'<div class="claims" onclick="{escape(SORT)}">\n<h2>Claims</h2>\n'
        f"{study}\n{_counts(claims)}\n{COUNTED}\n{INTRODUCTION}\n{_meanings()}\n{_legend()}\n"
        f"{_choice()}\n{_table(claims, specifications, place)}\n</div>\n"
    )


def _check(claims: pd.DataFrame, specifications: pd.DataFrame) -> None:
    tables = {
        "claims": (claims, (*TEXTS, *NUMBERS)),
        "specifications": (specifications, SPECIFICATION),
    }
    for name, (table, needed) in tables.items():
        if missing := [column for column in needed if column not in table]:
            raise UserError(
                f"the {name} have no column {', '.join(missing)}; the page needs "
                f"{', '.join(needed)}; judge the claims again"
            )
    for column, known in (("verdict", VERDICTS), ("paper", PAPERS)):
        unknown = sorted(set(claims[column]) - set(known))
        if unknown:
            raise UserError(
                f"{column} {', '.join(unknown)} in the claims; allowed: {', '.join(known)}; "
                f"judge the claims again"
            )


def _rank(names: Iterable[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


def _counts(claims: pd.DataFrame) -> str:
    parts = claims.groupby("paper", sort=False)
    rows = "\n".join(_count(paper, part) for paper, part in parts)
    return f'<table class="counts">\n{rows}\n</table>'


def _count(paper: str, claims: pd.DataFrame) -> str:
    provisional = (claims["provisional"] != "").sum()
    total = "1 claim" if len(claims) == 1 else f"{len(claims)} claims"
    if repeated := (claims["same_number_as"] != "").sum():
        total += f", {repeated} by the number of another and not counted"
    if provisional:
        total += f", {provisional} provisional"
    name = f"<b>{_name(paper)}</b>: {total}<small>{escape(PAPERS[paper])}</small>"
    once = claims[claims["same_number_as"] == ""]
    found = [(verdict, (once["verdict"] == verdict).sum()) for verdict in VERDICTS]
    cells = [f"{sign(verdict)}{count} {verdict}" if count else "" for verdict, count in found]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in (name, *cells)) + "</tr>"


def _meanings() -> str:
    """What each verdict means, in a sentence."""
    terms = [
        f"<dt>{sign(verdict)}{verdict}</dt><dd>{words.MEANING[verdict]}</dd>"
        for verdict in VERDICTS
    ]
    return f'<dl class="meanings">{"".join(terms)}</dl>'


def _name(paper: str) -> str:
    return escape(paper.capitalize())


def sign(verdict: str) -> str:
    """The sign of a verdict, in SVG of the classes sign, shape and stroke."""
    look = VERDICTS[verdict]
    return (
        f'<svg class="sign" viewBox="0 0 20 20" style="--color: {look.color}" aria-hidden="true">'
        f'<path class="shape" d="{look.shape}"/><path class="stroke" d="{look.stroke}"/></svg>'
    )


def _legend() -> str:
    interval = {"value": 0, "ci_low": -16, "ci_high": 16}
    items = [
        _item(interval, "our models, 95 % interval"),
        _item(interval, "provisional", look="provisional"),
        _item({"zero": 0, "margin": 12}, "margin: less counts as no effect"),
        _item({"published": 0}, "the paper’s models", middle=7),
        _item({"untrained": 0}, "our models before training", middle=31),
        _across("at-zero", "0"),
        _across("at-margin", "margin, in the curve"),
        _across("at-published", "the paper’s models, in the curve"),
    ]
    return f'<ul class="legend" style="--color: var(--ink, #1a1a1a)">\n{"".join(items)}</ul>'


def _item(places: dict[str, float], text: str, middle: int = 19, look: str = "") -> str:
    box = f"-20 {middle - 15} 40 30"
    drawing = f'<svg width="40" height="30" viewBox="{box}">{_marks(places)}</svg>'
    return f'<li class="{look}">{drawing}{text}</li>\n'


def _across(level: str, text: str) -> str:
    line = f'<path class="level {level}" d="M0 15H40"/>'
    return f'<li><svg width="40" height="30">{line}</svg>{text}</li>\n'


def _choice() -> str:
    """A choice of what to show: all claims, or those with one verdict."""
    boxes = [_box("all", "all", " checked")]
    boxes += [_box(rank, sign(name) + name) for name, rank in _rank(VERDICTS).items()]
    return f"<fieldset>\n<legend>Show</legend>\n{''.join(boxes)}</fieldset>"


def _box(value: int | str, label: str, look: str = "") -> str:
    return f'<label><input type="radio" name="verdict" value="{value}"{look}>{label}</label>\n'


def _filters() -> str:
    """Styles that hide the other verdicts; they work without scripts."""
    return "".join(
        f'.claims:has(input[value="{rank}"]:checked) .evidence '
        f'tbody tr:not([data-verdict="{rank}"]) {{ display: none; }}\n'
        for rank in range(len(VERDICTS))
    )


def _table(claims: pd.DataFrame, specifications: pd.DataFrame, place: Place) -> str:
    ranks = {
        "verdict": _rank(VERDICTS),
        "measure": _rank(sorted(set(claims["measure"]))),
        "paper": _rank(PAPERS),
    }
    by_claim = {name: rows.to_dict("records") for name, rows in specifications.groupby("claim")}
    rows = []
    for n, claim in enumerate(claims.to_dict("records")):
        keys = {name: rank[claim[name]] for name, rank in ranks.items()} | {"place": n}
        rows.append(_row(claim, keys, by_claim.get(claim["claim"], []), place))
    head = "".join(_head(name, title) for name, title in COLUMNS.items())
    body = "\n".join(rows)
    return (
        f'<table class="evidence">\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table>"
    )


def _head(name: str, title: str) -> str:
    if name not in SORTED_BY:
        return f'<th scope="col" class="{name}">{title}</th>'
    order = ' aria-sort="ascending"' if name == "paper" else ""
    button = f'<button type="button">{title}</button>'
    return f'<th scope="col" class="{name}" data-key="{name}"{order}>{button}</th>'


def _row(claim: dict, keys: dict[str, int], specified: list[dict], place: Place) -> str:
    mark = f"<small>{escape(claim['provisional'])}</small>" if claim["provisional"] else ""
    cells = {
        "verdict": f"{sign(claim['verdict'])}{claim['verdict']}{mark}",
        "claim": f"<details><summary>{escape(claim['statement'])}</summary>"
        f"{_details(claim, specified, place)}</details>",
        "picture": f'{picture(claim)}<span class="numbers">{_value(claim)}</span>'
        f"{curve(claim, specified)}",
        "measure": escape(claim["measure"].replace("_", " ")),
        "paper": _name(claim["paper"]),
    }
    look = "provisional" if claim["provisional"] else ""
    color = VERDICTS[claim["verdict"]].color
    data = " ".join(f'data-{name}="{key}"' for name, key in keys.items())
    filled = "\n".join(f'<td class="{name}">{cells[name]}</td>' for name in COLUMNS)
    name = f' id="claim-{claim["claim"]}"' if place.rows else ""
    return f'<tr{name} class="{look}" style="--color: {color}" {data}>\n{filled}\n</tr>'


def _details(claim: dict, specified: list[dict], place: Place) -> str:
    added = _with_interval(claim["added"], claim["added_low"], claim["added_high"])
    seeds = f" (seeds {claim['seeds']})" if claim["seeds"] else ""
    curves = f" ({claim['curves']})" if claim["curves"] else ""
    entries = {
        "Statistic": claim["statistic"],
        "Differs from the sentence": claim["differs"],
        "Our models": _value(claim),
        "Margin": _number(claim["margin"]),
        "Before training": _number(claim["untrained"]),
        "Training adds": added,
        "The paper’s models": _number(claim["published"], after=_published_as(claim)),
        "Share of that": _with_interval(
            claim["share"], claim["share_low"], claim["share_high"], ".0%"
        ),
        "Power at that size": _number(claim["power"], ".0%"),
        "p-value": _number(claim["p_value"], ".2g"),
        "If the models were ready": claim["otherwise"],
        "Models not ready": claim["not_ready"],
        "Same number as": claim["same_number_as"],
        "Verdict without correction": claim["uncorrected"],
        "Specifications": _agreement(claim, specified),
        "Contradicted if": claim["contradicted_if"],
        "Undecided until": claim["undecided_until"],
        "Rank correlation": _number(claim["rank_correlation"], ".2f", curves),
        "Runs": _number(claim["runs"], ".0f", seeds),
        "Look": _number(claim["look"], ".0f"),
        "Models": claim["rests_on"],
        "Section": claim["section"],
        "Name": claim["claim"],
    }
    shown = {term: text for term, text in entries.items() if text}
    terms = [f"<dt>{term}</dt><dd>{escape(text)}</dd>" for term, text in shown.items()]
    links = {"Figures": [(place.figure, name) for name in claim["figures"]]}
    if place.table:
        links["Table"] = [(place.table, claim["measure"])]
    for term, some in links.items():
        if some:
            terms.append(f"<dt>{term}</dt><dd>{', '.join(_link(*each) for each in some)}</dd>")
    return f"<dl>{''.join(terms)}</dl>"


def _link(where: str, name: str) -> str:
    return f'<a href="{where.format(name)}">{name.replace("_", " ")}</a>'


def _agreement(claim: dict, specified: list[dict]) -> str:
    """How many specifications have the verdict, and which have which other."""
    if len(specified) < 2:
        return ""
    others: dict[str, list[str]] = {}
    for one in specified:
        if one["verdict"] != claim["uncorrected"]:
            others.setdefault(one["verdict"], []).append(_choices(one))
    told = [f"{verdict}: {', '.join(names)}" for verdict, names in others.items()]
    return "; ".join([_agree(claim), *told])


def _agree(claim: dict) -> str:
    agree, all_of_them = claim["specifications_agree"], claim["specifications"]
    return f"{agree:.0f} of {all_of_them:.0f} specifications agree"


def _choices(one: dict) -> str:
    """What a specification has otherwise, in words."""
    usual = {"estimator": words.AS_JUDGED, "layers": words.THIRDS, "seeds": words.ALL}
    return " and ".join(one[choice] for choice, name in usual.items() if one[choice] != name)


def _value(claim: dict) -> str:
    return _with_interval(claim["value"], claim["ci_low"], claim["ci_high"]) or "not measured"


def _published_as(claim: dict) -> str:
    return f" ({words.PUBLISHED_AS[claim['published_as']]})" if claim["published_as"] else ""


def _with_interval(value: float, low: float, high: float, digits: str = ".3g") -> str:
    known = pd.notna(low) and pd.notna(high)
    interval = f" ({_number(low, digits)} to {_number(high, digits)})" if known else ""
    return _number(value, digits, interval)


def _number(value: float, digits: str = ".3g", after: str = "") -> str:
    return "" if pd.isna(value) else f"{value:{digits}}".replace("-", "−") + after


def picture(claim: dict) -> str:
    """The value with its interval, and the values to compare it with, in SVG.

    0 is in the middle; the furthest mark, or an infinite end of an interval, is `REACH` from it.
    Empty if nothing is known.
    """
    known = {name: claim[name] for name in DRAWN if not isnan(claim[name])}
    furthest = max((abs(number) for number in known.values() if isfinite(number)), default=0)
    if not furthest:
        return ""
    label = ", ".join(f"{DRAWN[name]} {_number(number)}" for name, number in known.items())
    known["zero"] = 0
    places = {name: REACH * max(-1, min(1, number / furthest)) for name, number in known.items()}
    return (
        '<svg width="300" height="38" viewBox="-150 0 300 38" role="img">'
        f"<title>{label}</title>{_marks(places)}</svg>"
    )


def curve(claim: dict, specified: list[dict]) -> str:
    """The specification curve of a claim, in SVG: values with intervals, lowest first, in the color
    of their verdicts; the margin, 0 and the published value as lines across. Empty if there is one
    specification, or none.

    specified: the specifications, the claim as it is judged first.
    """
    if len(specified) < 2:
        return ""
    own, *_ = specified
    levels = {"at-zero": 0.0, "at-margin": claim["margin"], "at-published": claim["published"]}
    levels = {name: level for name, level in levels.items() if not isnan(level)}
    # An interval of two runs would leave nothing of the others to see.
    shown = [*levels.values(), *(one["value"] for one in specified), own["ci_low"], own["ci_high"]]
    shown = [number for number in shown if isfinite(number)]
    height = Height(min(shown), max(shown))
    step = min(MOST_STEP, CURVE_WIDTH / len(specified))
    first = (CURVE_WIDTH - step * (len(specified) - 1)) / 2
    ordered = sorted(specified, key=lambda one: one["value"])
    placed = [(first + step * place, one) for place, one in enumerate(ordered)]
    marks = [
        f'<path class="level {name}" d="M0 {height.of(level)}H{CURVE_WIDTH}"/>'
        for name, level in levels.items()
    ]
    for verdict in dict.fromkeys(one["verdict"] for one in ordered):
        of_it = [(x, one) for x, one in placed if one["verdict"] == verdict]
        color = f' style="--color: {VERDICTS[verdict].color}"'
        bounds = "".join(height.interval(x, one) for x, one in of_it)
        points = "".join(f"M{x:.1f} {height.of(one['value'])}h0" for x, one in of_it)
        marks.append(f'<path class="bounds"{color} d="{bounds}"/>')
        marks.append(f'<path class="points"{color} d="{points}"/>')
    x = next(x for x, one in placed if one is own)
    marks.append(f'<circle class="own" cx="{x:.1f}" cy="{height.of(own["value"])}" r="4.5"/>')
    told = _agreement(claim, specified)
    return (
        f'<svg class="curve" width="{CURVE_WIDTH}" height="{CURVE_HEIGHT}" '
        f'viewBox="0 0 {CURVE_WIDTH} {CURVE_HEIGHT}" role="img"><title>{escape(told)}</title>'
        f'{"".join(marks)}</svg><span class="numbers">{_agree(claim)}</span>'
    )


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


def _marks(places: dict[str, float]) -> str:
    """A mark at each known place; marks to compare lie above and below the value."""
    x = {name: f"{place:.1f}" for name, place in places.items()}
    marks = []
    if "margin" in x:
        band = f"M-{x['margin']} 1H{x['margin']}V37H-{x['margin']}z"
        marks.append(f'<path class="margin" d="{band}"/>')
    if "zero" in x:
        marks.append('<path class="zero" d="M0 1V37"/>')
    if {"ci_low", "ci_high"} <= set(x):
        ends = f"M{x['ci_low']} 13v12m0-6H{x['ci_high']}m0-6v12"
        marks.append(f'<path class="interval" d="{ends}"/>')
    if "value" in x:
        marks.append(f'<circle class="value" cx="{x["value"]}" cy="19" r="4"/>')
    if "published" in x:
        marks.append(f'<path class="published" d="M{x["published"]} 11l-5-9h10z"/>')
    if "untrained" in x:
        marks.append(f'<path class="untrained" d="M{x["untrained"]} 27l5 5l-5 5l-5-5z"/>')
    return "".join(marks)
