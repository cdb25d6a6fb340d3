import json
import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.pages import claims as claims_page
from bottomup.pages.signs import VERDICTS
from scripts import show_claims

NAN = float("nan")
CELLS = ("verdict", "claim", "picture", "measure", "paper")
FIRST = {
    "claim": "lm_forgets",
    "paper": "heads",
    "statement": 'LM forgets <most> & "best".',
    "section": "Information",
    "measure": "mutual_information",
    "statistic": "fall, nats",
    "value": 0.12345,
    "ci_low": -0.0501,
    "ci_high": 0.2,
    "margin": 0.01,
    "published": 0.4,
    "untrained": -0.03,
    "added": 0.15,
    "added_low": 0.1,
    "added_high": 0.2,
    "verdict": "undecided",
    "uncorrected": "reproduced",
    "p_value": 0.0123,
    "provisional": "one <run>",
    "specifications": 3,
    "specifications_agree": 1,
    "look": 2,
    "rests_on": "lm mt",
    "runs": 12,
    "seeds": "1 2",
    "contradicted_if": "it rises",
    "rank_correlation": 0.9429,
    "curves": "lm",
    "undecided_until": "ten times the text",
    "published_as": "of MT",
    "differs": "Wider: any lead counts.",
    "share": 0.25,
    "share_low": 0.2,
    "share_high": 0.3,
    "power": 0.81,
    "otherwise": "",
    "not_ready": "",
    "same_number_as": "",
}
MEASURED = (
    "share",
    "share_low",
    "share_high",
    "power",
    "value",
    "ci_low",
    "ci_high",
    "untrained",
    "added",
    "added_low",
    "added_high",
)
NOT_MEASURED = FIRST | {
    **dict.fromkeys((*MEASURED, "p_value", "rank_correlation", "look"), NAN),
    **dict.fromkeys(("provisional", "seeds", "rests_on", "undecided_until"), ""),
    **{"claim": "mlm", "paper": "evolution", "runs": 0},
    **{"specifications": 0, "specifications_agree": 0},
}
SPECIFICATIONS = pd.DataFrame(
    [
        ("as judged", "thirds", "all", 0.12345, -0.0501, 0.2, "reproduced"),
        ("classifier", "halves", "all", -0.1, -0.2, 0.0, "contradicted"),
        ("as judged", "thirds", "without seed 1", 0.3, -9.0, 9.0, "undecided"),
    ],
    columns=claims_page.SPECIFICATION[1:],
).assign(claim="lm_forgets")
NONE = SPECIFICATIONS[:0]
STUDY = {
    "study": "made <up>",
    "model": {"layers": 3, "heads": 4, "d_model": 32},
    "objectives": {
        "lm": {"seeds": [1, 2], "tokens": "100,000"},
        "untrained": {"seeds": [1]},
    },
    "checkpoints": ["bert"],
    "beside": [],
    "figures": [
        {"name": "of_both", "tables": ["measures/mutual_information.csv"], "published": ["ib"]},
        {"name": "of_neither", "tables": ["measures/change.csv"], "published": []},
    ],
    "tables": ["mutual_information", "change", "pruning"],
    "halves": ["lm"],
    "pwcca": {"variant": "definition", "weights": "x"},
}


def written(claims, specifications=NONE, **study):
    return claims_page.page(claims, specifications, claims_page.Study(**STUDY | study))


class Page(HTMLParser):
    """The rows of the table of evidence: the text of cells and of details, the marks drawn."""

    EMPTY = ("meta", "link", "input", "path", "circle")

    def __init__(self, page):
        super().__init__()
        self.rows, self.open = [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "tr" and "data-place" in attrs:
            self.rows.append({"look": attrs["class"], "terms": [], "marks": {}, "paths": []})
        if tag in ("path", "circle") and "picture" in self.open:
            self.rows[-1]["marks"][attrs["class"]] = attrs
            self.rows[-1]["paths"].append(attrs)
        if tag not in self.EMPTY:
            self.open.append(attrs.get("class", tag) if tag == "td" else tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        last = self.open.pop()
        assert last == tag or tag == "td"

    def handle_data(self, data):
        if not self.rows or "tr" not in self.open:
            return
        if {"dt", "dd"} & set(self.open[-2:]):
            self.rows[-1]["terms"].append(data)
        else:
            cell = next((name for name in self.open if name in CELLS), "")
            self.rows[-1][cell] = self.rows[-1].get(cell, "") + data


def details(row):
    return dict(zip(row["terms"][::2], row["terms"][1::2], strict=True))


def first(specifications=NONE, **changes):
    return Page(written(pd.DataFrame([FIRST | changes]), specifications)).rows[0]


@pytest.fixture
def claims():
    return pd.DataFrame([FIRST, NOT_MEASURED])


def test_a_row_has_the_sentence_the_verdict_and_all_that_decides_it():
    row = first()
    assert row["verdict"].strip() == "undecidedone <run>"
    assert 'LM forgets <most> & "best".' in row["claim"]
    assert (row["measure"], row["paper"]) == ("mutual information", "Heads")
    assert "0.123 (−0.0501 to 0.2)" in row["picture"]
    assert details(row) == {
        "Statistic": "fall, nats",
        "Differs from the sentence": "Wider: any lead counts.",
        "Our models": "0.123 (−0.0501 to 0.2)",
        "Margin": "0.01",
        "Before training": "−0.03",
        "Training adds": "0.15 (0.1 to 0.2)",
        "The paper’s models": "0.4 (the paper gives it for MT alone)",
        "Share of that": "25% (20% to 30%)",
        "Power at that size": "81%",
        "p-value": "0.012",
        "Verdict without correction": "reproduced",
        "Contradicted if": "it rises",
        "What would decide it": "ten times the text",
        "Rank correlation": "0.94 (lm)",
        "Runs": "12 (seeds 1 2)",
        "Look": "2",
        "Models": "lm mt",
        "Section": "Information",
        "Name": "lm_forgets",
        "Figures": "of both",
        "Table": "mutual information",
    }


def test_a_page_says_where_numbers_are_of_more_seeds_than_verdicts():
    said = "numbers are those of all seeds"
    assert said in written(pd.DataFrame([FIRST]))
    assert said not in written(pd.DataFrame([FIRST | {"look": 1}, NOT_MEASURED]))


def test_marks_are_drawn_to_scale_with_0_in_the_middle():
    marks = first()["marks"]  # the furthest, published, is at 140: a hundredth is 3.5
    assert marks["zero"]["d"] == "M0 1V37"
    assert marks["margin"]["d"] == "M-3.5 1H3.5V37H-3.5z"
    assert marks["value"]["cx"] == "43.2"
    assert marks["interval"]["d"] == "M-17.5 13v12m0-6H70.0m0-6v12"
    assert marks["published"]["d"].startswith("M140.0 ")
    assert marks["untrained"]["d"].startswith("M-10.5 ")


@pytest.mark.parametrize("published_as", ["assumed", "of another statistic"])
def test_what_stands_in_for_a_published_value_is_not_drawn_as_one(published_as):
    marks = first(published_as=published_as)["marks"]
    assert "published" not in marks and marks["stand-in"]["d"].startswith("M140.0 ")
    page = written(pd.DataFrame([FIRST | {"published_as": published_as}]))
    [told] = re.findall("<title>(our models.*?)</title>", page)
    assert "in place of the paper’s models 0.4" in told
    assert "stand-in" not in first(published_as="")["marks"]


def test_the_furthest_mark_sets_the_scale_and_infinite_intervals_end_there():
    marks = first(value=-0.8, ci_low=-float("inf"), ci_high=0.2)["marks"]
    assert marks["value"]["cx"] == "-140.0"
    assert marks["interval"]["d"] == "M-140.0 13v12m0-6H35.0m0-6v12"
    assert marks["published"]["d"].startswith("M70.0 ")


def test_what_is_not_known_is_not_drawn_and_not_told(claims):
    row = Page(written(claims)).rows[0]
    assert "not measured" in row["picture"]
    assert set(row["marks"]) == {"margin", "zero", "published"}
    assert not {"p-value", "Before training", "Training adds"} & set(details(row))
    assert details(row)["Our models"] == "not measured"
    unpublished = first(published=NAN, margin=NAN, ci_low=NAN)
    assert set(unpublished["marks"]) == {"zero", "value", "untrained"}
    assert "0.123" in unpublished["picture"] and "(" not in details(unpublished)["Our models"]
    nothing = dict.fromkeys(("published", "margin", *MEASURED), NAN)
    assert first(**nothing)["marks"] == {}


def test_missing_text_is_empty_as_it_is_when_read_from_a_file():
    row = first(provisional=None, undecided_until=NAN, seeds=None)
    assert row["verdict"] == "undecided" and "What would decide it" not in details(row)
    assert details(row)["Runs"] == "12"


def test_provisional_verdicts_look_it():
    assert first()["look"] == "provisional"
    assert first(provisional="")["look"] == ""


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_is_shown_and_counted(verdict, claims):
    page = written(claims.assign(verdict=verdict))
    assert page.count(f"</svg>1 {verdict}</td>") == 2
    for other in set(VERDICTS) - {verdict}:
        assert f"</svg>1 {other}" not in page
    assert [row["verdict"].split("one")[0] for row in Page(page).rows] == [verdict] * 2


def test_verdicts_differ_in_shape_or_strokes_and_in_color():
    assert len({(sign.shape, sign.stroke) for sign in VERDICTS.values()}) == len(VERDICTS)
    assert len({sign.stroke for sign in VERDICTS.values()}) == len(VERDICTS)
    assert len({sign.color for sign in VERDICTS.values()}) == len(VERDICTS)


def test_rows_are_in_the_order_of_papers_then_as_given(claims):
    more = pd.concat([claims, claims.assign(claim="later")])
    names = [details(row)["Name"] for row in Page(written(more)).rows]
    assert names == ["mlm", "later", "lm_forgets", "later"]


def test_counts_say_how_many_are_provisional(claims):
    page = written(claims)
    assert "<b>Heads</b>: 1 claim, 1 provisional<small>" in page
    assert "<b>Evolution</b>: 1 claim<small>" in page


def test_a_row_can_be_linked_to(claims):
    page = written(claims)
    assert page.index('<tr id="claim-mlm"') < page.index('<tr id="claim-lm_forgets"')


def test_a_specification_curve_is_sorted_and_drawn_to_scale():
    row = first(SPECIFICATIONS)
    marks = row["marks"]
    # From the lowest, -0.1, to the published 0.4: 5 from the edges, 100 a unit. Steps of 14.
    height = {name: marks[f"level at-{name}"]["d"] for name in ("zero", "margin", "published")}
    assert height == {"zero": "M0 45.0H300", "margin": "M0 44.0H300", "published": "M0 5.0H300"}
    assert (marks["own"]["cx"], marks["own"]["cy"]) == ("150.0", "32.7")
    drawn = [path for path in row["paths"] if "--color" in path.get("style", "")]
    color = {verdict: f"--color: {VERDICTS[verdict].color}" for verdict in VERDICTS}
    assert [(path["class"], path["style"], path["d"]) for path in drawn] == [
        ("bounds", color["contradicted"], "M136.0 45.0V60.0"),
        ("points", color["contradicted"], "M136.0 55.0h0"),
        ("bounds", color["reproduced"], "M150.0 25.0V50.0"),
        ("points", color["reproduced"], "M150.0 32.7h0"),
        # What leaves the picture is cut at its edges.
        ("bounds", color["undecided"], "M164.0 0.0V60.0"),
        ("points", color["undecided"], "M164.0 15.0h0"),
    ]


def test_runs_are_told_with_their_tokens():
    runs = claims_page.Objective(seeds=[1, 2], tokens="about 3,000")
    assert runs.size == "2 seeds, about 3,000 tokens"
    assert claims_page.Objective(seeds=[1]).size == "1 seed"
    shape = {"layers": 12, "dropout": 0.1, "trunk": "lstm"}
    told = claims_page.Objective.model_validate_json(json.dumps({"seeds": [1], "shape": shape}))
    assert told.size == "1 seed, layers 12, dropout 0.1, trunk lstm"


def test_specifications_are_told_by_what_they_have_otherwise():
    row = first(SPECIFICATIONS)
    told = (
        "1 of 3 specifications agree; contradicted: classifier and halves; "
        "undecided: without seed 1"
    )
    assert details(row)["Specifications"] == told
    assert row["picture"].endswith("1 of 3 specifications agree")
    alone = first(SPECIFICATIONS[:1], specifications_agree=1)
    assert "Specifications" not in details(alone) and "own" not in alone["marks"]
    of_another = first(SPECIFICATIONS.assign(claim="mlm"))
    assert "own" not in of_another["marks"]


def test_many_specifications_fit():
    many = pd.concat([SPECIFICATIONS[:1]] * 60)
    found = [path["d"] for path in first(many)["paths"] if path["class"] == "points"]
    places = [float(x.split()[0]) for x in found[0].split("M")[1:]]
    assert len(places) == 60 and places[0] >= 0 and places[-1] <= 300
    assert places == sorted(set(places))


def test_the_page_says_what_its_study_is(claims):
    page = written(claims)
    assert "<title>Study made &lt;up&gt;: claims<" in page and "<h1>Study made &lt;up&gt;:" in page
    assert (
        "<p> Transformers of 3 layers, 4 heads and width 32: lm (2 seeds, 100,000 tokens), "
        "untrained (1 seed), the checkpoint bert. </p>"
    ) in " ".join(page.split())
    alone = " ".join(written(claims, objectives={}).split())
    assert "<p> the checkpoint bert. </p>" in alone


@pytest.mark.parametrize(
    ("claim", "figures"),
    [
        ({"section": "Information; figure ib"}, "of_both"),
        ({"section": "Information; figure unknown"}, "of_both"),
        ({"measure": "change"}, "of_neither"),
        ({"measure": "pruning"}, ""),
    ],
)
def test_a_row_links_to_its_figures_and_to_its_table(claim, figures):
    page = written(pd.DataFrame([FIRST | claim]))
    links = [f'<a href="index.html#figure-{name}">' for name in figures.split()]
    measure = claim.get("measure", "mutual_information")
    cells = page[page.index("<tbody>") :]
    assert re.findall(r"<a [^>]*>", cells) == [*links, f'<a href="measures/{measure}.csv">']


@pytest.mark.parametrize("measure", ["influence", "learning_curves"])
def test_a_row_links_to_no_table_that_the_study_does_not_make(measure):
    page = written(pd.DataFrame([FIRST | {"measure": measure}]))
    assert 'href="measures/' not in page


def test_nothing_is_loaded(claims):
    page = written(claims)
    for way in ("http:", "https:", "src=", "url(", "@import"):
        assert way not in page
    assert re.findall("<link[^>]*>", page) == ['<link rel="icon" href="data:,">']


def test_errors(claims):
    with pytest.raises(UserError, match="no column seeds"):
        written(claims.drop(columns="seeds"))
    with pytest.raises(UserError, match="the specifications have no column layers"):
        written(claims, SPECIFICATIONS.drop(columns="layers"))
    with pytest.raises(UserError, match="verdict maybe"):
        written(claims.assign(verdict="maybe"))
    with pytest.raises(UserError, match="paper bert"):
        written(claims.assign(paper="bert"))


def test_the_program(claims, tmp_path):
    one_seed = claims["seeds"].replace("1 2", "1")  # beside a claim without any
    claims.assign(seeds=one_seed).to_csv(tmp_path / "claims.csv", index=False)
    SPECIFICATIONS.to_csv(tmp_path / "specifications.csv", index=False)
    paths = {name: tmp_path / f"{name}.csv" for name in ("claims", "specifications")}
    paths |= {"page": tmp_path / "claims.html", "settings": claims_page.Study(**STUDY)}
    show_claims.main(type("Arguments", (), paths | {"between_runs": None}))
    page = paths["page"].read_text(encoding="utf-8")
    assert "another training text" not in page
    runs = tmp_path / "pwcca_between_runs.parquet"
    apart = {"variant": "definition", "weights": "x", "layer": 1, "distance": 0.25}
    halves = {"objective_a": "lm_half1", "seed_a": 1, "objective_b": "lm_half2", "seed_b": 1}
    pd.DataFrame([apart | halves | {"ci_low": None, "without": [0.25, 0.25]}]).to_parquet(runs)
    show_claims.main(type("Arguments", (), paths | {"between_runs": runs}))
    sentence = "are 0.25 ± 0 over documents apart"
    assert sentence in paths["page"].read_text(encoding="utf-8")
    assert "LM forgets &lt;most&gt; &amp; &#34;best&#34;." in page
    assert "one &lt;run&gt;" in page
    assert "12 (seeds 1)" in page
