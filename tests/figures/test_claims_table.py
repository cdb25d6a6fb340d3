from html.parser import HTMLParser

import pandas as pd
import pytest

from bottomup.errors import UserError
from bottomup.figures import claims_table
from scripts import show_claims

FIRST = {
    "claim": "lm_forgets",
    "paper": "evolution",
    "statement": "LM forgets <most> & best.",
    "section": "Information",
    "statistic": "fall, nats",
    "value": 0.12345,
    "ci_low": -0.0501,
    "ci_high": 0.2,
    "margin": 0.01,
    "verdict": "undecided",
    "seeds": "1 2",
    "contradicted_if": "it rises",
    "rank_correlation": 0.9429,
    "undecided_until": "ten times the text",
}
SECOND = FIRST | {"claim": "mt", "verdict": "reproduced", "undecided_until": None}
NOT_MEASURED = FIRST | {
    **{name: None for name in ("value", "ci_low", "ci_high", "rank_correlation")},
    **{"claim": "mlm", "seeds": ""},
}


class Cells(HTMLParser):
    """The text of a page's cells, by row, and whether every tag is closed."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.open = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data + " "


@pytest.fixture
def claims():
    return pd.DataFrame([FIRST, SECOND, NOT_MEASURED])


def test_a_row_for_each_claim_with_all_that_decides_it(claims):
    page = Cells(claims_table.page(claims))
    assert page.open == []
    head, *rows = page.rows
    assert len(rows) == 3 and {len(row) for row in page.rows} == {len(head)}
    cells = dict(zip(claims_table.COLUMNS, rows[0], strict=True))
    assert "? undecided" in cells["verdict"]
    assert "LM forgets <most> & best." in cells["claim"] and "Information" in cells["claim"]
    assert "undecided until ten times the text" in cells["statistic"]
    assert "contradicted if it rises" in cells["statistic"]
    assert cells["value"].split() == ["0.123", "−0.0501", "to", "0.2"]
    assert cells["rank correlation"].strip() == "0.94"


def test_what_is_empty_is_a_dash_or_nothing(claims):
    rows = Cells(claims_table.page(claims)).rows
    reproduced, missing = (dict(zip(claims_table.COLUMNS, row, strict=True)) for row in rows[2:])
    assert "undecided until" not in reproduced["statistic"]
    for name in ("value", "seeds", "rank correlation"):
        assert missing[name].strip() == "–"


def test_verdicts_are_counted_and_differ_in_sign_and_color(claims):
    page = claims_table.page(claims)
    assert "Of 3 claims: 1 reproduced, 0 contradicted, 2 undecided" in page
    for place in (0, 1):
        assert len({look[place] for look in claims_table.VERDICTS.values()}) == 3


def test_errors(claims):
    with pytest.raises(UserError, match="no column seeds"):
        claims_table.page(claims.drop(columns="seeds"))
    with pytest.raises(UserError, match="verdict maybe"):
        claims_table.page(claims.assign(verdict="maybe"))


def test_the_program(claims, tmp_path):
    one_seed = claims["seeds"].replace("1 2", "1")  # beside a claim without any
    claims.assign(seeds=one_seed).to_csv(tmp_path / "claims.csv", index=False)
    paths = {"claims": tmp_path / "claims.csv", "page": tmp_path / "claims.html"}
    show_claims.main(type("Arguments", (), paths))
    page = paths["page"].read_text(encoding="utf-8")
    assert "LM forgets &lt;most&gt;" in page
    assert ">1</td>" in page and ">1.0</td>" not in page
