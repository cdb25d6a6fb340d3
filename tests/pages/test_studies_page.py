import html
import re

import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.pages.studies import Studies, page
from scripts import show_studies
from tests.pages.test_claims_page import FIRST, NOT_MEASURED

OTHER = NOT_MEASURED | {"statement": "MLM does not."}  # of the first paper
OURS = pd.DataFrame([FIRST, OTHER])
LM, MLM = FIRST["statement"], OTHER["statement"]
MARK = "one &lt;run&gt;"


def changed(**of):
    """The claims of another study, the first one with other values."""
    return pd.DataFrame([FIRST | of, OTHER])


def rows(page):
    """By claim, in order: whether studies agree, and the text of each study's cell."""
    found = {}
    for row in re.findall(r"<tr( class=\"alike\")?>\n<th scope=\"row\"(.*?)</tr>", page, re.DOTALL):
        cells = re.findall(r"<td>(.*?)</td>", row[1], re.DOTALL)
        statement = re.search(r">([^<]+)<span", row[1])[1]
        texts = [re.sub(r"<[^>]+>", " ", cell).split() for cell in cells]
        found[html.unescape(statement)] = (bool(row[0]), [" ".join(words) for words in texts])
    return found


def test_a_row_has_what_each_study_says_its_value_and_its_mark():
    theirs = changed(verdict="not yet", otherwise="contradicted", value=-0.2)
    shown = rows(page("ours", {"ours": OURS, "French": theirs}))
    assert [*shown] == [MLM, LM]
    alike, cells = shown[LM]
    assert not alike
    assert cells == [
        f"undecided 0.123 (−0.0501 to 0.2) {MARK}",
        f"not yet: contradicted −0.2 (−0.0501 to 0.2) {MARK}",
    ]


def test_a_study_that_did_not_measure_a_claim_does_not_differ():
    theirs = changed(verdict="not measured", value=float("nan"))
    alike, cells = rows(page("a", {"a": OURS, "b": theirs}))[LM]
    assert alike and cells[1] == f"not measured {MARK}"


@pytest.mark.parametrize(
    ("otherwise", "alike"), [("learned in part", False), ("contradicted", True)]
)
def test_what_it_would_be_otherwise_counts(otherwise, alike):
    first, second = (changed(verdict="not yet", otherwise=of) for of in ("contradicted", otherwise))
    assert rows(page("a", {"a": first, "b": second}))[LM][0] is alike


def test_a_claim_that_a_study_lacks_has_an_empty_cell_there():
    more = pd.DataFrame([FIRST | {"claim": "another", "statement": "Another."}])
    shown = rows(page("a", {"a": OURS[1:], "b": pd.concat([OURS, more]), "c": OURS}))
    assert [*shown] == [MLM, LM, "Another."]
    assert [cell == "" for cell in shown[LM][1]] == [True, False, False]
    assert [cell == "" for cell in shown["Another."][1]] == [True, False, True]


def test_the_counts_are_those_of_each_study():
    written = page("a", {"a": OURS, "b": changed(verdict="reproduced")})
    table = re.search(r'<table class="counts">.*?</table>', written, re.DOTALL)[0]
    counted = re.findall("<tr>.*?</tr>", table, re.DOTALL)
    assert [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in counted] == [
        "a : 2 claims, 1 provisional 2 undecided",
        "b : 2 claims, 1 provisional 1 reproduced 1 undecided",
    ]


def test_errors():
    with pytest.raises(UserError, match="the claims of b have no column seeds"):
        page("a", {"a": OURS, "b": OURS.drop(columns="seeds")})
    with pytest.raises(UserError, match="lm_forgets has another statistic in b than in a"):
        page("a", {"a": OURS, "b": changed(statistic="fall, bits")})


def test_the_program(tmp_path):
    for name, table in {"a": OURS, "b": changed(verdict="reproduced")}.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    arguments = {
        "settings": Studies(study="a", columns=["a", "b & c"]),
        "claims": [tmp_path / "a.csv", tmp_path / "b.csv"],
        "page": tmp_path / "studies.html",
    }
    show_studies.main(type("Arguments", (), arguments))
    written = arguments["page"].read_text(encoding="utf-8")
    assert "Study a beside others" in written and '<th scope="col">b &amp; c</th>' in written
    for way in ("http:", "https:", "src=", "url(", "@import"):
        assert way not in written
