from html.parser import HTMLParser

import pandas as pd
import pytest

from bottomup.errors import UserError
from bottomup.figures import claims_table
from bottomup.figures.claims_table import VERDICTS
from scripts import show_claims

NAN = float("nan")
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
    "other_estimators": "classifier: contradicted",
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
    **dict.fromkeys((*MEASURED, "p_value", "rank_correlation"), NAN),
    **dict.fromkeys(("provisional", "other_estimators", "seeds", "undecided_until"), ""),
    **{"claim": "mlm", "paper": "evolution", "runs": 0},
}


class Page(HTMLParser):
    """The rows of the table of evidence: the text of cells and of details, the marks drawn."""

    EMPTY = ("meta", "input", "path", "circle")

    def __init__(self, page):
        super().__init__()
        self.rows, self.open, self.names = [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.names += attrs
        if tag == "tr" and "data-place" in attrs:
            self.rows.append({"look": attrs["class"], "terms": [], "marks": {}})
        if tag in ("path", "circle") and "picture" in self.open:
            self.rows[-1]["marks"][attrs["class"]] = attrs
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
        if self.open[-1] in ("dt", "dd"):
            self.rows[-1]["terms"].append(data)
        else:
            cell = next((name for name in self.open if name in claims_table.COLUMNS), "")
            self.rows[-1][cell] = self.rows[-1].get(cell, "") + data


def details(row):
    return dict(zip(row["terms"][::2], row["terms"][1::2], strict=True))


def first(**changes):
    return Page(claims_table.page(pd.DataFrame([FIRST | changes]))).rows[0]


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
        "Other estimators": "classifier: contradicted",
        "Contradicted if": "it rises",
        "Undecided until": "ten times the text",
        "Rank correlation": "0.94 (lm)",
        "Runs": "12 (seeds 1 2)",
        "Section": "Information",
        "Name": "lm_forgets",
    }


def test_marks_are_drawn_to_scale_with_0_in_the_middle():
    marks = first()["marks"]  # the furthest, published, is at 140: a hundredth is 3.5
    assert marks["zero"]["d"] == "M0 1V37"
    assert marks["margin"]["d"] == "M-3.5 1H3.5V37H-3.5z"
    assert marks["value"]["cx"] == "43.2"
    assert marks["interval"]["d"] == "M-17.5 13v12m0-6H70.0m0-6v12"
    assert marks["published"]["d"].startswith("M140.0 ")
    assert marks["untrained"]["d"].startswith("M-10.5 ")


def test_the_furthest_mark_sets_the_scale_and_infinite_intervals_end_there():
    marks = first(value=-0.8, ci_low=-float("inf"), ci_high=0.2)["marks"]
    assert marks["value"]["cx"] == "-140.0"
    assert marks["interval"]["d"] == "M-140.0 13v12m0-6H35.0m0-6v12"
    assert marks["published"]["d"].startswith("M70.0 ")


def test_what_is_not_known_is_not_drawn_and_not_told(claims):
    row = Page(claims_table.page(claims)).rows[0]
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
    assert row["verdict"] == "undecided" and "Undecided until" not in details(row)
    assert details(row)["Runs"] == "12"


def test_provisional_verdicts_look_it():
    assert first()["look"] == "provisional"
    assert first(provisional="")["look"] == ""


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_is_shown_and_counted(verdict, claims):
    page = claims_table.page(claims.assign(verdict=verdict))
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
    names = [details(row)["Name"] for row in Page(claims_table.page(more)).rows]
    assert names == ["mlm", "later", "lm_forgets", "later"]


def test_counts_say_how_many_are_provisional(claims):
    page = claims_table.page(claims)
    assert "<b>Heads</b>: 1 claim, 1 provisional<small>" in page
    assert "<b>Evolution</b>: 1 claim<small>" in page


def test_the_page_can_stand_in_a_script_of_the_report_and_beside_other_content(claims):
    page = claims_table.page(claims)
    assert "<script" not in page and "</script" not in page and "<!--" not in page
    assert "id" not in Page(page).names
    style = claims_table.STYLE.replace("@container claims (max-width: 62rem) {", "")
    for line in filter(None, map(str.strip, style.splitlines())):
        assert line.startswith((".claims", "}")), "styles of this page alone"


def test_nothing_is_loaded(claims):
    page = claims_table.page(claims)
    for way in ("http:", "https:", "src=", "url(", "@import", "<link"):
        assert way not in page


def test_errors(claims):
    with pytest.raises(UserError, match="no column seeds"):
        claims_table.page(claims.drop(columns="seeds"))
    with pytest.raises(UserError, match="verdict maybe"):
        claims_table.page(claims.assign(verdict="maybe"))
    with pytest.raises(UserError, match="paper bert"):
        claims_table.page(claims.assign(paper="bert"))


def test_the_program(claims, tmp_path):
    one_seed = claims["seeds"].replace("1 2", "1")  # beside a claim without any
    claims.assign(seeds=one_seed).to_csv(tmp_path / "claims.csv", index=False)
    paths = {"claims": tmp_path / "claims.csv", "page": tmp_path / "claims.html"}
    show_claims.main(type("Arguments", (), paths))
    page = paths["page"].read_text(encoding="utf-8")
    assert "LM forgets &lt;most&gt; &amp; &quot;best&quot;." in page
    assert "one &lt;run&gt;" in page
    assert "12 (seeds 1)" in page
