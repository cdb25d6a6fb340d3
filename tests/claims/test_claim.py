"""From a claim and tables to a verdict."""

import math

import pandas as pd
import pytest

from bottomup.claims.claim import (
    COLUMNS,
    Claim,
    NotMeasuredError,
    collect,
    judge,
    more_text,
    of_seed,
    seeds,
    verdict,
)
from bottomup.claims.estimate import Estimate

NO_CORRELATIONS = pd.DataFrame(columns=["figure", "panel", "series", "rank_correlation"])


def claim(measure, **data):
    data = {"published": 2.0, "undecided_until": "a larger model"} | data
    claims = []
    collect(claims, "a paper")(statement="", section="", statistic="", contradicted_if="", **data)(
        measure
    )
    return claims[0]


def first(tables):
    """The first row of a seed's table."""
    return Estimate(*tables["measure"][["value", "ci_low", "ci_high"]].iloc[0])


def table(*rows):
    return {"measure": pd.DataFrame(rows, columns=["seed", "value", "ci_low", "ci_high"])}


def judged(tables, measure=first, correlations=NO_CORRELATIONS, **data):
    rows = judge([claim(measure, **data)], tables, correlations)
    assert list(rows) == COLUMNS and len(rows) == 1
    return rows.iloc[0]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.11, 9, "reproduced"),
        (0.1, 9, "undecided"),
        (-0.1, 0.1, "undecided"),
        (-9, 9, "undecided"),
        (-9, -0.1, "undecided"),
        (-9, -0.11, "contradicted"),
        (math.nan, 9, "undecided"),
        (0.2, math.nan, "reproduced"),
        (math.nan, math.nan, "undecided"),
    ],
)
def test_a_verdict_needs_the_whole_interval(low, high, expected):
    assert verdict(Estimate(0, low, high), margin=0.1) == expected


def test_the_claim_is_its_function_and_its_margin_a_twentieth_of_the_published_value():
    made = claim(first)
    assert isinstance(made, Claim)
    assert (made.name, made.paper, made.margin) == ("first", "a paper", pytest.approx(0.1))


def test_a_verdict_holds_for_every_seed():
    row = judged(table((1, 0.4, 0.3, 0.5), (2, 0.8, 0.6, 1.0)))
    assert (row["value"], row["ci_low"], row["ci_high"]) == pytest.approx((0.6, 0.3, 1.0))
    assert (row["verdict"], row["seeds"], row["undecided_until"]) == ("reproduced", "1 2", "")
    row = judged(table((1, 0.4, 0.3, 0.5), (2, 0.8, 0.05, 1.55)))
    assert row["verdict"] == "undecided"
    row = judged(table((1, -0.4, -0.5, -0.3), (2, -0.8, -0.9, -0.7)))
    assert row["verdict"] == "contradicted"


def test_what_was_not_measured_is_undecided_and_empty():
    def second(tables):
        if len(tables["measure"]) < 2:
            raise NotMeasuredError("second row")
        return first(tables)

    row = judged(table((1, 0.4, 0.3, 0.5)), measure=second)
    assert row[["value", "ci_low", "ci_high"]].isna().all()
    assert (row["verdict"], row["seeds"]) == ("undecided", "")
    assert row["undecided_until"] == "the study measures it (second row is missing)"
    # Another seed may have it.
    tables = table((1, 0.4, 0.3, 0.5), (3, 0.4, 0.3, 0.5), (3, 0.6, 0.3, 0.5))
    row = judged(tables, measure=second)
    assert (row["verdict"], row["seeds"]) == ("reproduced", "3")
    assert judged({})["undecided_until"] == "the study measures it (every run is missing)"


def test_a_value_without_an_interval_decides_nothing():
    row = judged(table((1, 5, math.nan, math.nan)))
    assert (row["value"], row["verdict"]) == (5, "undecided")
    assert row["undecided_until"] == "a larger model"


def test_how_much_more_text_decides():
    # The first is 0.3 beyond the margin with a half-width of 0.6: half that at 4 times the text.
    tight, wide = Estimate(0.4, 0.3, 0.5), Estimate(0.4, -0.2, 1.0)
    assert more_text([wide], 0.1) == pytest.approx(4)
    assert more_text([tight, wide], 0.1) == pytest.approx(4)
    assert more_text([-wide], 0.1) == pytest.approx(4)
    assert more_text([Estimate(0.1, -1, 1)], 0.1) == math.inf
    assert more_text([wide, -wide], 0.1) == math.inf
    # (0.55 / 0.3)^2 = 3.36, and at least so much.
    row = judged(table((1, 0.4, -0.15, 1.0)))
    assert row["undecided_until"] == (
        "3.4 times the held-out text, if the values stay; or a larger model"
    )
    assert judged(table((1, 0, -0.2, 0.2)))["undecided_until"] == "a larger model"


def test_pairs_of_runs_are_of_both_seeds():
    pairs = pd.DataFrame({"seed_a": [1, 1, 2], "seed_b": [1, 2, 2]})
    tables = {"pairs": pairs, "runs": pd.DataFrame({"seed": [2, 3]})}
    assert seeds(tables) == [1, 2, 3]
    assert of_seed(tables, 1)["pairs"].index.tolist() == [0, 1]
    assert of_seed(tables, 2)["pairs"].index.tolist() == [1, 2]
    assert of_seed(tables, 3)["pairs"].empty
    assert of_seed(tables, 3)["runs"].index.tolist() == [1]


def test_the_rank_correlation_is_the_mean_of_the_claim_s_curves():
    correlations = pd.DataFrame(
        [
            ("change", "lm", "1-10", 1.0),
            ("change", "lm", "10-25", 0.5),
            ("change", "mt", "1-10", -1.0),
            ("influence", "lm", "1-10", -1.0),
        ],
        columns=NO_CORRELATIONS.columns,
    )
    tables = table((1, 1, 1, 1))
    row = judged(tables, correlations=correlations, curves=(("change", "lm"),))
    assert row["rank_correlation"] == 0.75
    assert row["curves"] == "change, lm"
    row = judged(tables, correlations=correlations, curves=(("mt",), ("influence",)))
    assert (row["rank_correlation"], row["curves"]) == (-1, "mt; influence")
    row = judged(tables, correlations=correlations, curves=(("change", "mlm"),))
    assert math.isnan(row["rank_correlation"]) and row["curves"] == ""
