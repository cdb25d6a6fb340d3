"""From what is found to rows with verdicts, and what a reader of them must know."""

import math

import numpy as np
import pandas as pd
import pytest

from bottomup.claims import NotMeasuredError
from bottomup.claims.catalog import CLAIMS
from bottomup.claims.curves import rounded, rows
from bottomup.claims.judge import COLUMNS
from bottomup.claims.looks import Looks
from bottomup.claims.verdicts import PValues, Sure, corrected
from bottomup.claims.words import LESS_THAN_BEFORE
from bottomup.measures.jackknife import Range
from tests.claims import made_up
from tests.claims.made_up import NO_CORRELATIONS, NO_SPECIFICATIONS, claim, named, of_seeds
from tests.claims.test_finding import of, where_large


def judged(
    table,
    *claims,
    correlations=NO_CORRELATIONS,
    specifications=NO_SPECIFICATIONS,
    not_ready=(),
):
    rows = made_up.judged({"change": table}, claims, correlations, specifications, not_ready)
    rows = rows.reset_index()
    assert list(rows) == COLUMNS and len(rows) == len(claims)
    return rows.iloc[0]


def test_the_row_of_a_claim():
    row = judged(of_seeds(mt=[3.0, 3.1, 3.2], untrained=[1.0, 1.0, 1.3]), claim(of("mt")))
    assert (row["verdict"], row["uncorrected"], row["provisional"]) == (*["reproduced"] * 2, "")
    assert (row["runs"], row["seeds"]) == (3, "1 2 3") and row["undecided_until"] == ""
    # Of the published 2.
    assert row["share"] == pytest.approx(1.55) and row["share_low"] < 1.55 < row["share_high"]
    assert (row["value"], row["untrained"], row["added"]) == pytest.approx((3.1, 1.1, 2.0))
    assert row["ci_low"] < 3.1 < row["ci_high"] and row["added_low"] < 2 < row["added_high"]
    # Training adds 2 less 1.1 where the published size is true; errors are a tenth of that.
    assert 0.8 < row["power"] <= 1
    assert row["margin"] == pytest.approx(0.1) and row["p_value"] < 0.01


def test_one_initial_model_asks_for_a_second():
    row = judged(of_seeds(mt=[3.0, 3.1, 3.2], untrained=[1.0]), claim(of("mt")))
    assert row["verdict"] == "undecided" and np.isnan(row["power"])
    wanted = "what training adds has a second run, which tells how far runs are apart"
    assert row["undecided_until"] == wanted


def test_what_was_not_measured_says_so_and_is_empty():
    def second(tables):
        raise NotMeasuredError("second row")

    row = judged(of_seeds(mt=[3.0]), claim(second))
    assert row[["value", "ci_low", "ci_high", "p_value", "added"]].isna().all()
    assert (row["verdict"], row["runs"]) == ("not measured", 0)
    assert row["undecided_until"] == "the study measures it (second row is missing)"


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (("gates", {"objective": "mt"}), "table gates is missing, since B"),
        (
            ("change", {"objective": "mt", "seed": 2}),
            "objective mt, seed 2 in the table change is missing, since A",
        ),
        (("change", {"objective": "lm"}), "objective lm in the table change is missing"),
    ],
)
def test_why_a_table_or_its_rows_are_missing_is_said(where, found):
    """Not where it is the models that are missing."""
    name, wanted = where
    one = claim(lambda tables: [rows(tables, name, **wanted).values("distance")[0]])
    row = made_up.judged(
        {"change": of_seeds(mt=[3.0])}, [one], lacking={"change": "A", "gates": "B"}
    ).iloc[0]
    assert row["undecided_until"] == f"the study measures it ({found})"


@pytest.mark.parametrize(
    ("values", "data", "marks"),
    [
        ({"mt": [3.0], "untrained": [1.0]}, {}, "one run"),
        ({"mt": [3.0]}, {}, "one run, no initial models beside it"),
        ({"mt": [3.0]}, {"of_training": False}, "one run"),
        ({"mt": [3.0, 3.1], "untrained": [1.0]}, {}, "initial models beside some of its runs"),
        (
            {"mt": [3.0, 3.1, 3.0], "untrained": [6.0, 6.1, 6.0]},
            {},
            "holds, but less than before training",
        ),
        (
            {"mt": [0.5, -0.5, 0.1], "untrained": [6.0, 6.1, 6.0]},
            {},
            "only less than before training",
        ),
        ({"mt": [3.0, 3.1], "untrained": [3.1, 3.0]}, {}, ""),
        (
            {"mt": [3.0, 3.1, 3.0], "untrained": [1.0, 1.0, 1.1]},
            {"of_training": False},
            "holds before training, too",
        ),
        ({"mt": [1.0, 1.01, 1.02]}, {"of_training": False}, "smaller than published"),
        ({"mt": [0.0, 0.01, 0.02]}, {"of_training": False}, ""),
    ],
)
def test_marks(values, data, marks):
    assert judged(of_seeds(**values), claim(of("mt"), **data))["provisional"] == marks


def test_a_claim_about_initial_models_is_not_marked_for_them():
    about = claim(of("untrained"), of_training=False)
    assert judged(of_seeds(untrained=[3.0, 3.1, 3.0]), about)["provisional"] == ""


def test_what_would_decide():
    def until(*values, spread=0.01, **data):
        data |= {"of_training": False, "published_as": "assumed"}
        row = judged(of_seeds(spread, mt=values), claim(of("mt"), **data))
        assert row["verdict"] == "undecided"
        return row["undecided_until"]

    # A run has the variance 8. Of ten, 3 - 0.1 is 2.26 + 0.88 standard errors (8 / 10) ** 0.5;
    # of nine not 2.31 + 0.88.
    assert until(1.0, 5.0) == "10 runs, if the values stay; or a larger model"
    assert until(-0.05, 0.05) == "the value is too near to none: a larger model"
    # With 20 runs the documents' standard error of 2 has to come down to about 0.9.
    found = until(2.5, 2.6, 2.7, spread=4.0)
    assert found.startswith("20 runs and ") and "times the held-out text" in found
    runs, text = 20, float(found.split()[3])
    # Each run reads the same text; the spread of a mean of three independent ones is 4 / sqrt(3).
    needed = (2.6 - 0.1) / (2.093 + 0.860)
    assert text == pytest.approx(16 / 3 / (needed**2 - 0.01 / runs), rel=0.35)
    one_block = of_seeds(mt=[3.0, 3.1])
    one_block["without"] = [np.array([value]) for value in one_block["distance"]]
    row = judged(one_block, claim(of("mt")))
    assert row["undecided_until"] == (
        "more of the held-out text: without one block of documents a value that it rests on is "
        "missing; or a larger model"
    )


def test_more_runs_than_there_are_are_asked_for(monkeypatch):
    monkeypatch.setattr("bottomup.claims.until.enough", lambda *_, **__: (2, 1.0))
    row = judged(of_seeds(mt=[1.0, 9.0, 2.0]), claim(of("mt"), of_training=False))
    assert row["undecided_until"].startswith("4 runs, if the values stay")


def test_power_is_that_of_what_is_known_worst():
    """Of what training adds where initial models have most of the published size already."""
    runs = {"mt": [3.0, 3.1, 3.2]}
    alone = judged(of_seeds(**runs), claim(of("mt"), of_training=False))["power"]
    beside = judged(of_seeds(**runs, untrained=[2.9, 3.2, 2.8]), claim(of("mt")))["power"]
    assert beside < 0.5 < alone


def test_one_part_of_several_may_be_near_to_none():
    row = judged(
        of_seeds(mt=[1.0, 5.0], lm=[0.0, 0.01]),
        claim(of("mt", "lm"), one_of=True, of_training=False),
    )
    assert row["undecided_until"].endswith("runs, if the values stay; or a larger model")


def for_it(p):
    """A claim that holds with this two-sided p-value."""
    return PValues(holds=p / 2, absent=1.0, contradicted=1.0, towards=1.0, smaller=1.0)


def test_verdicts_on_a_paper_are_corrected_together():
    # Benjamini and Yekutieli: of m = 4, p k-th of them times 4 (1 + 1/2 + 1/3 + 1/4) / k.
    ps = [0.001, 0.011, 0.03, 0.5]
    factor = 4 * (1 + 1 / 2 + 1 / 3 + 1 / 4)
    assert [p * factor / k < 0.05 for k, p in enumerate(ps, 1)] == [True, True, False, False]
    found = corrected({str(p): for_it(p) for p in ps})
    words = [one.word for one in found.values()]
    assert words == ["reproduced", "reproduced", "undecided", "undecided"]
    assert corrected({}) == {}


def test_claims_of_another_paper_are_another_family():
    # A p-value of 0.02 twice among four is 0.08; among two it is 0.03.
    values = {name: [1.2, 2.0, 2.8] for name in "ab"} | {name: [0.0, -1.0, 1.0] for name in "cd"}
    claims = [claim(of(name), of_training=False, published_as="assumed") for name in values]
    named(claims, values)
    together = judged(of_seeds(**values), *claims)
    for one in claims[2:]:
        object.__setattr__(one, "paper", "evolution")
    apart = judged(of_seeds(**values), *claims)
    assert together["p_value"] == apart["p_value"] and 0.013 < apart["p_value"] < 0.033
    assert (together["verdict"], apart["verdict"]) == ("undecided", "reproduced")


@pytest.mark.parametrize(
    ("p", "word"),
    [
        # The p-values are one-sided, and half of 5 % is the level of each side.
        ({"holds": 0.024}, "reproduced"),
        ({"holds": 0.026}, "undecided"),
        ({"absent": 0.024, "contradicted": 0.024}, "contradicted"),
        ({"absent": 0.024, "contradicted": 0.5}, "absent, as before training"),
        ({"absent": 0.026, "contradicted": 0.026}, "undecided"),
        ({"smaller": 0.024}, "smaller than published"),
        ({"smaller": 0.026}, "undecided"),
        # It is there, though smaller; it is on the other side, and so smaller.
        ({"smaller": 0.001, "holds": 0.001}, "reproduced"),
        ({"smaller": 0.001, "absent": 0.001}, "absent, as before training"),
        ({"towards": 0.024, "absent": 0.024}, "learned in part"),
        ({"towards": 0.026, "absent": 0.024}, "absent, as before training"),
        ({"towards": 0.001}, "undecided"),
    ],
)
def test_the_word_follows_from_p_values(p, word):
    one = PValues(
        **dict.fromkeys(("holds", "absent", "contradicted", "towards", "smaller"), 1.0) | p
    )
    assert one.alone == word
    assert corrected({"a claim": one})["a claim"].word == word


@pytest.mark.parametrize(
    ("trained", "initial", "word"),
    [
        ([-3.0, -3.1, -3.2], [1.0, 1.1, 1.0], "contradicted"),
        # An untrained network says the same: training did not move it there.
        ([-3.0, -3.1, -3.2], [-3.1, -3.2, -3.0], "absent, as before training"),
        ([-3.0, -3.1, -3.2], [-5.0, -5.1, -5.0], "learned in part"),
        ([0.05, 0.1, 0.0], [0.0, 0.1, 0.05], "smaller than published"),
        ([1.9, 1.0, 0.1], [0.0, 0.1, 0.05], "undecided"),
    ],
)
def test_what_is_missing_is_told_from_what_is_against(trained, initial, word):
    assert judged(of_seeds(mt=trained, untrained=initial), claim(of("mt")))["verdict"] == word


def test_what_a_model_that_still_learns_lacks_is_not_held_against_the_claim():
    def row(values, objective):
        found = of_seeds(mt=values, lm=[9.0, 9.0, 9.1], untrained=[1.0, 1.1, 1.0])
        return judged(found, claim(of("mt")), not_ready={objective: "BLEU 3"})

    late = row([-3.0, -3.1, -3.2], "mt")
    assert (late["verdict"], late["otherwise"]) == ("not yet", "contradicted")
    assert late["not_ready"] == "mt: BLEU 3"
    # What is there is there; and a claim that is not about these models is not touched.
    assert row([3.0, 3.1, 3.2], "mt")["verdict"] == "reproduced"
    assert row([-3.0, -3.1, -3.2], "lm")["verdict"] == "contradicted"


def test_one_number_is_counted_once():
    table = of_seeds(mt=[3.0, 3.1, 3.2], lm=[5.0, 5.1, 5.0])
    claims = [claim(of(*names), of_training=False) for names in (("mt",), ("mt", "lm"), ("lm",))]
    named(claims, "abc")
    rows = made_up.judged({"change": table}, claims)
    assert rows["same_number_as"].fillna("").tolist() == ["", "a", ""]


def test_one_number_is_counted_once_whatever_its_published_size():
    """By which intervals differ, since runs vary in units of it as those of other claims do."""
    table = of_seeds(mt=[3.0, 3.1, 3.2], lm=[5.0, 7.0, 6.0], mlm=[4.0, 9.0, 3.0])
    sizes = {"mt": 2.0, "mt again": 0.1, "lm": 2.0, "mlm": 2.0}
    claims = [
        claim(of(name.split()[0]), of_training=False, published=size)
        for name, size in sizes.items()
    ]
    rows = made_up.judged({"change": table}, named(claims, [*sizes])).loc[[*sizes]]
    assert rows["ci_low"].nunique() == len(sizes)
    assert rows["same_number_as"].fillna("").tolist() == ["", "mt", "", ""]


def test_a_claim_about_steps_rests_on_the_models_that_took_them():
    """Which may still learn, while a model at its first step is ready for nothing."""
    table = of_seeds(lm_step1=[-3.0, -3.1, -3.2], lm_step9=[-3.0, -3.1, -3.2])
    steps = claim(of("lm_step1", "lm_step9"), of_training=False)
    row = judged(table, steps, not_ready={"lm_step1": "accuracy 0.001"})
    assert (row["verdict"], row["rests_on"]) == ("contradicted", "lm")
    assert judged(table, steps, not_ready={"lm": "still falls"})["verdict"] == "not yet"


def test_numbers_that_are_equal_by_chance_count_each():
    """As shares of heads may be, which no other text would move."""
    values = [3.0, 3.1, 3.2]
    claims = [claim(of(name), of_training=False) for name in ("mt", "lm")]
    for one, name in zip(claims, "ab", strict=True):
        object.__setattr__(one, "name", name)
    rows = made_up.judged({"change": of_seeds(0.0, mt=values, lm=values)}, claims)
    assert rows["ci_low"].notna().all() and rows["ci_low"].nunique() == 1
    assert rows["same_number_as"].tolist() == ["", ""]


def test_counts_that_are_equal_by_chance_count_each():
    """Unless they are counts of one thing."""

    def count(what):
        values = of("mt")
        return lambda tables: [rounded(part, 0.1, tables, what) for part in values(tables)]

    claims = [claim(count(what), of_training=False) for what in ("heads", "layers", "heads")]
    rows = made_up.judged({"change": of_seeds(0.0, mt=[3.0, 3.1, 3.2])}, named(claims, "abc"))
    assert rows["ci_low"].notna().all() and rows["ci_low"].round(9).nunique() == 1
    assert rows["same_number_as"].tolist() == ["", "", "a"]


def test_a_verdict_that_falls_to_the_others_says_so():
    rng = np.random.default_rng(1)
    # One that is decided alone, among nine that are nothing.
    values = {"mt": [1.8, 2.4, 3.0], **{f"o{n}": rng.normal(0, 1, 3) for n in range(9)}}
    claims = [claim(of(name), of_training=False) for name in values]
    named(claims, values)
    row = judged(of_seeds(**values), *claims)
    assert (row["verdict"], row["uncorrected"]) == ("undecided", "reproduced")
    assert row["undecided_until"] == (
        "alone it is decided; among all claims, 5 runs, if the values stay; or a larger model"
    )


def specified(*rows):
    """Specifications of a claim: choices, and the verdict alone."""
    columns = ["estimator", "layers", "seeds", "verdict"]
    return pd.DataFrame(rows, columns=columns).assign(claim="<lambda>", value=1.0)


AS_JUDGED = ("as judged", "thirds", "all", "reproduced")


def test_a_row_says_how_many_specifications_agree():
    ours, about = of_seeds(mt=[3.0, 3.1]), claim(of("mt"))
    other = ("500 clusters", "thirds", "all", "reproduced")
    none = ("classifier", "thirds", "all", "undecided")
    row = judged(ours, about, specifications=specified(AS_JUDGED, other, none))
    assert (row["specifications"], row["specifications_agree"]) == (3, 2)
    assert row["verdict"] == "reproduced"
    # Those of another claim say nothing of this one.
    row = judged(ours, about, specifications=specified(AS_JUDGED, other).assign(claim="another"))
    assert (row["specifications"], row["specifications_agree"]) == (0, 0)


@pytest.mark.parametrize(
    ("choices", "word"),
    [
        (("classifier", "thirds", "all"), "depends on the estimator"),
        (("as judged", "halves", "all"), "depends on the estimator"),
        # Less data, not another way to look at them.
        (("as judged", "thirds", "without seed 1"), "reproduced"),
    ],
)
def test_opposite_verdicts_of_two_specifications_depend_on_the_estimator(choices, word):
    rows = specified(AS_JUDGED, (*choices, "contradicted"))
    assert judged(of_seeds(mt=[3.0, 3.1]), claim(of("mt")), specifications=rows)["verdict"] == word


def test_the_rank_correlation_is_the_mean_of_the_claim_s_curves():
    correlations = pd.DataFrame(
        [
            ("change", "lm", "1-10", "distance", 1.0),
            ("change", "lm", "10-25", "distance", 0.5),
            ("change", "mt", "1-10", "distance", -1.0),
            ("influence", "lm", "1-10", "distance", -1.0),
            ("change", "lm", "1-10", "difference of two models", -1.0),
        ],
        columns=NO_CORRELATIONS.columns,
    )

    def row(*curves):
        return judged(of_seeds(mt=[1.0]), claim(of("mt"), curves=curves), correlations=correlations)

    assert row(("change", "lm"))[["rank_correlation", "curves"]].tolist() == [0.75, "change, lm"]
    found = row(("mt",), ("influence",))
    assert found[["rank_correlation", "curves"]].tolist() == [-1, "mt; influence"]
    found = row(("change", "mlm"))
    assert math.isnan(found["rank_correlation"]) and found["curves"] == ""


def test_a_condition_that_is_open_needs_its_own_runs():
    table = of_seeds(mt=[3.0, 3.1, 3.2], lm=[1.0, 5.0, 3.0])
    row = judged(table, claim(of("mt"), where=of("lm"), of_training=False))
    assert row["verdict"] == "undecided"
    # A run of the condition has the variance 4: 3 - 0.1 is (2.57 + 0.91) (4 / 6) ** 0.5 with six.
    assert row["undecided_until"] == "6 runs, if the values stay; or a larger model"


def test_no_runs_are_asked_for_that_would_not_decide():
    """Each is what it is however many runs there are."""

    def until(mt, untrained, **data):
        found = of_seeds(mt=mt, untrained=untrained, lm=[-3.0, -3.1, -3.2])
        row = judged(found, claim(of("mt"), **data))
        assert row["verdict"] == "undecided"
        return row["undecided_until"]

    few = [4.0, 4.5, 5.0]
    assert until(few, [9.0, 9.1, 9.2]) == LESS_THAN_BEFORE
    # Not that it is smaller than the published 2.
    assert until(few, few[::-1]) == "training does not add to it: a larger model"
    unmet = "its condition is not met: a larger model"
    assert until(few, [0.0, 0.1, 0.0], where=of("lm")) == unmet
    assert until([0.0, 0.1, 0.2], [0.0, 0.1, 0.0], where=of("lm")) == unmet
    # What training adds does not concern the other side. A run has the variance 6.25: 2 - 0.1 is
    # (2.13 + 0.86) (6.25 / 16) ** 0.5.
    against = [0.5, -2.0, -4.5]
    assert until(against, against[::-1]) == "16 runs, if the values stay; or a larger model"


@pytest.mark.parametrize("name", ["mt", "untrained", "lm"])
def test_a_block_without_a_value_asks_for_text_and_no_runs(name):
    """Of the models that the claim is about, of initial ones, and of those of its condition."""
    table = of_seeds(mt=[3.0, 3.1, 3.2], untrained=[1.0, 1.0, 1.1], lm=[4.0, 4.1, 4.3])
    table["without"] = [
        np.append(np.nan, of[1:]) if (model, seed) == (name, 2) else of
        for model, seed, of in zip(table["objective"], table["seed"], table["without"], strict=True)
    ]
    row = judged(table, claim(of("mt"), where=of("lm")))
    assert row["verdict"] == "undecided"
    assert row["undecided_until"].startswith("more of the held-out text: without one block")


def test_an_interval_ends_where_its_statistic_does():
    runs = of_seeds(mt=[-0.9, 0.8, 0.4], untrained=[0.1, -0.2, 0.3])
    wide, cut = (judged(runs, claim(of("mt"), **data)) for data in ({}, {"within": Range(-1, 1)}))
    assert wide["ci_low"] < -1 and wide["ci_high"] > 1
    assert (cut["ci_low"], cut["ci_high"]) == (-1, 1)
    # What training adds is a difference of two such values.
    assert wide["added_low"] < -2 and (cut["added_low"], cut["added_high"]) == (-2, 2)
    assert cut["p_value"] == wide["p_value"]


def test_what_was_published_and_measured_is_within_the_range_of_its_statistic():
    measured = pd.read_csv("docs/verdicts.csv").set_index("claim")["value"]
    for one in CLAIMS:
        assert one.within.low < one.published <= one.within.high, one.name
        value = measured[one.name]
        assert np.isnan(value) or one.within.low <= value <= one.within.high, one.name


def test_a_row_tells_of_a_condition_that_is_not_sure():
    def row(condition):
        table = of_seeds(mt=[3.0, 3.1, 3.2], lm=condition)
        return judged(table, claim(of("mt"), where=of("lm"), of_training=False))

    sure, not_sure = row([3.0, 3.1, 3.2]), row([1.0, 5.0, 3.0])
    assert sure["power"] > 0.9 and sure["provisional"] == ""
    assert not_sure["power"] < 0.5 and not_sure["provisional"] == "its condition is not sure"


LOOKS = Looks(seeds=[1, 2, 3, 4, 5], planned=[3, 5])


def test_the_row_of_a_claim_that_one_run_of_several_shows():
    row = judged(of_seeds(mt=[1.0, 3.0, 1.0]), claim(where_large("mt")))
    assert (row["verdict"], row["uncorrected"], row["runs"]) == ("undecided", "undecided", 1)
    assert row["provisional"].startswith("one run of 3") and np.isnan(row["power"])
    assert row["undecided_until"] == "more than one of 3 runs has what it asks for"


def judged_by_looks(*mt):
    found = of_seeds(mt=mt, untrained=[0.0] * len(mt))
    return made_up.judged({"change": found}, [claim(of("mt"))], looks=LOOKS).iloc[0]


def test_what_is_decided_at_a_look_stands():
    """The fourth and the fifth run speak against it, which nobody would have trained."""
    row = judged_by_looks(3.0, 3.1, 3.2)
    assert (row["verdict"], row["look"], row["runs"]) == ("reproduced", 1, 3)
    row = judged_by_looks(3.0, 3.1, 3.2, -9.0, -9.0)
    assert (row["verdict"], row["look"]) == ("reproduced", 1)
    # The numbers are those of all runs.
    assert row["value"] == pytest.approx(-8.7 / 5) and row["uncorrected"] == "undecided"


def test_a_look_is_taken_by_seeds_of_what_claims_rest_on():
    found = of_seeds(mt=[1.0, 3.0, 5.0], untrained=[0.0] * 3, mt_b=[0.0] * 5)
    rows = made_up.judged({"change": found}, [claim(of("mt"))], looks=LOOKS)
    assert [*rows["look"]] == [1] and [*rows["rests_on"]] == ["mt"]


def test_what_is_smaller_may_be_found_to_be_there_at_a_later_look():
    """Else a row would say that the side is open, beside an interval on one side."""
    row = judged_by_looks(0.55, 0.3, 0.2)
    assert (row["verdict"], row["look"]) == ("smaller than published", 1)
    row = judged_by_looks(0.55, 0.3, 0.2, 0.35, 0.35)
    assert row["ci_low"] > row["margin"] and (row["verdict"], row["look"]) == ("reproduced", 2)
    assert row["provisional"] == "smaller than published"


def test_what_was_sure_at_a_look_stands_beside_what_is_added():
    nothing, smaller, absent = Sure(), Sure(smaller=True), Sure(absent=True)
    holds, contradicted = Sure(holds=True), Sure(absent=True, contradicted=True)
    assert nothing.then(smaller).then(holds) == Sure(holds=True, smaller=True)
    assert smaller.then(nothing) == smaller
    assert absent.then(holds) == absent and absent.then(contradicted).word == "contradicted"
    towards = Sure(absent=True, towards=True)
    assert towards.then(contradicted) == towards and contradicted.then(towards) == contradicted


def test_a_claim_that_is_only_alone_smaller_is_not_marked():
    """Surely is given how many claims are asked: here that is sure of none."""
    rng = np.random.default_rng(1)
    values = {"mt": [0.9, 1.1, 1.3], **{f"o{n}": rng.normal(0, 0.3, 3) for n in range(9)}}
    data = {"of_training": False}
    claims = [claim(of("mt"), **data)]
    claims += [claim(of(f"o{n}"), published_as="assumed", **data) for n in range(9)]
    for one, name in zip(claims, values, strict=True):
        object.__setattr__(one, "name", name)
    alone, among = (judged(of_seeds(**values), *some) for some in (claims[:1], claims))
    assert (alone["verdict"], alone["provisional"]) == ("reproduced", "smaller than published")
    assert (among["verdict"], among["uncorrected"]) == ("undecided", "reproduced")
    assert among["provisional"] == ""


def test_what_is_undecided_is_asked_again_at_the_next_look():
    row = judged_by_looks(1.0, 3.0, 5.0)
    assert (row["verdict"], row["look"]) == ("undecided", 1)
    assert row["rests_on"] == "mt"
    row = judged_by_looks(1.0, 3.0, 5.0, 3.0, 3.0)
    assert (row["verdict"], row["look"]) == ("reproduced", 2)
