"""The findings count the verdicts that are beside them."""

import re

import pandas as pd

from tests.tiny import ROOT

PAPERS = {
    "evolution paper": "evolution",
    "heads paper": "heads",
    "heads paper, asked of LM and MLM": "heads, asked anew",
    "mask and target": "beyond",
    "other papers of the field": "field",
}


def test_each_number_is_counted_once_and_the_rest_is_named():
    every = pd.read_csv(ROOT / "docs/verdicts.csv")
    text = (ROOT / "docs/findings.md").read_text()
    heading, _, *rows = re.search(r"## Verdicts\n.*?((?:\|[^\n]*\n)+)", text, re.S)[1].splitlines()
    words = [cell.strip() for cell in heading.split("|")[2:-1]]
    said, more = {}, {}
    for row in rows:
        about, *counts = [cell.strip() for cell in row.split("|")[1:-1]]
        name, n, rest = re.fullmatch(r"(.*) \((\d+)(; one more rests on .*)?\)", about).groups()
        assert int(n) == sum(map(int, counts)), name
        said[PAPERS[name]] = dict(zip(words, map(int, counts), strict=True))
        more[PAPERS[name]] = bool(rest)
    once = every[every["same_number_as"].isna()]
    counted = {paper: dict.fromkeys(words, 0) for paper in said}
    for paper, verdict in zip(once["paper"], once["verdict"], strict=True):
        counted[paper][verdict] += 1
    assert said == counted
    again = every["paper"][every["same_number_as"].notna()].value_counts()
    assert more == {paper: again.get(paper, 0) == 1 for paper in said}
