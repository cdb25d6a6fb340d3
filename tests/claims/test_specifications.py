"""Claims under every choice of analysis that the tables allow."""

import numpy as np
import pandas as pd
import pytest

from bottomup.claims import NotMeasuredError
from bottomup.claims.curves import bottom, curve, mean, middle, parts_of_layers, top
from bottomup.claims.specifications import COLUMNS, specify
from tests.claims import made_up
from tests.claims.made_up import INITIAL, claim, named, of_runs, of_seeds
from tests.claims.test_finding import of

CHOICES = ["estimator", "layers", "seeds"]
# Neither halves nor quarters of twelve layers are its thirds.
RISE = np.arange(12.0)


def runs(**values):
    return made_up.tables({"change": of_seeds(**values)})


def layers(values, seeds=(1, 2)):
    """The tables of runs with a value for each layer, the same for each seed but for its noise."""
    rng = np.random.default_rng(0)
    noisy = [np.asarray(values) + 0.01 * rng.standard_normal() for _ in seeds]
    parts = [
        of_runs(of_seed, 0.01, rng, objective="mt", seed=seed, layer=range(len(values)))
        for seed, of_seed in zip(seeds, noisy, strict=True)
    ]
    return made_up.tables({"change": pd.concat(parts)})


def over_layers(statistic):
    """A claim's parts: a statistic of MT's curve."""
    return lambda found: [
        statistic(curve(found["change"].where(objective="mt"), "layer", "distance"))
    ]


def specified(tables, *claims, others=()):
    """The rows, by the choices that they are made of."""
    rows = specify(claims, tables, INITIAL, dict(others))
    assert list(rows) == COLUMNS
    return rows.set_index(CHOICES)


def rise(values):
    return mean(top(values)) - mean(bottom(values))


def test_the_claim_as_it_is_judged_comes_first():
    frame, about = of_seeds(mt=[3.0, 3.1, 3.2], untrained=[1.0, 1.0, 1.3]), claim(of("mt"))
    first = specify([about], made_up.tables({"change": frame}), INITIAL, {}).iloc[0]
    row = made_up.judged({"change": frame}, [about]).iloc[0]
    assert first[["claim", *CHOICES]].tolist() == [about.name, "as judged", "thirds", "all"]
    assert first["value"] == pytest.approx(3.1)
    numbers = ["value", "ci_low", "ci_high"]
    assert first[numbers].tolist() == row[numbers].tolist()
    assert first["verdict"] == row["uncorrected"] == "reproduced"


def test_each_seed_is_left_out_where_two_are_left():
    rows = specified(runs(mt=[1.0, 2.0, 6.0]), claim(of("mt")))
    left = rows["value"].xs(("as judged", "thirds"))
    assert left.to_dict() == pytest.approx(
        {"all": 3.0, "without seed 1": 4.0, "without seed 2": 3.5, "without seed 3": 1.5}
    )
    # Two runs are surer of themselves than of what they say of others.
    assert len(specified(runs(mt=[1.0, 2.0]), claim(of("mt")))) == 1


def test_a_seed_that_a_claim_does_not_have_is_not_left_out_of_it():
    tables = runs(mt=[1.0, 2.0, 6.0, 7.0], lm=[1.0, 2.0, 4.0], mlm=[1.0, 2.0])
    names = ("mt", "lm", "mlm")
    rows = specified(tables, *named([claim(of(name)) for name in names], names)).reset_index()
    counts = rows.groupby("claim", sort=False).size()
    # MLM's single run left would have no spread.
    assert counts.to_dict() == {"mt": 5, "lm": 4, "mlm": 1}
    assert [*counts.index] == ["mt", "lm", "mlm"]


def test_halves_and_quarters_stand_for_bottom_and_top():
    rows = specified(layers(RISE), claim(over_layers(rise)))
    # Of 0 to 11: 9.5 - 1.5, 8.5 - 2.5, 10 - 1.
    found = rows["value"].droplevel(["estimator", "seeds"]).to_dict()
    assert found == pytest.approx({"thirds": 8.0, "halves": 6.0, "quarters": 9.0})


def test_nothing_lies_between_two_halves():
    def peak(values):
        return mean(middle(values)) - mean(bottom(values))

    even, odd = (specified(layers(RISE[:n]), claim(over_layers(peak))) for n in (12, 11))
    assert [*even.index.get_level_values("layers")] == ["thirds", "quarters"]
    # The sixth of eleven is 5 to the mean of the five below it, 2.
    assert odd.loc[("as judged", "halves", "all"), "value"] == pytest.approx(3.0)
    with parts_of_layers(2), pytest.raises(NotMeasuredError, match="between the bottom and the"):
        middle([1, 2, 3, 4])
    assert middle([1, 2, 3, 4]) == [2, 3]  # as before


def test_a_choice_that_does_not_concern_a_claim_is_no_specification():
    # A quarter and a third of six layers, and a half of three, are one layer.
    small = specified(layers(RISE[:3]), claim(over_layers(rise)))
    assert [*small.index] == [("as judged", "thirds", "all")]
    tables = runs(mt=[3.0, 3.1])
    other = {"other": ("influence", runs(mt=[-3.0, -3.1]))}
    assert len(specified(tables, claim(of("mt")), others=other)) == 1


def test_a_claim_that_is_not_measured_as_it_is_judged_has_no_curve():
    """Else a row that says so would have a picture whose ring is round another choice."""
    matched, all_of_them = runs(lm=[3.0, 3.1]), runs(mt=[3.0, 3.1], lm=[1.0, 1.1])
    asked = [claim(of(name)) for name in ("mt", "lm")]
    for one, name in zip(asked, ("of mt", "of lm"), strict=True):
        object.__setattr__(one, "name", name)
    rows = specify(asked, matched, INITIAL, {"not matched": ("change", all_of_them)})
    assert rows[["claim", "estimator"]].to_numpy().tolist() == [
        ["of lm", "as judged"],
        ["of lm", "not matched"],
    ]


def test_estimators_are_combined_with_parts_of_layers():
    others = {
        "twice": ("change", layers(2 * RISE)),
        "none": ("change", layers(0 * RISE)),
        "missing": ("change", runs(lm=[1.0])),
    }
    rows = specified(layers(RISE), claim(over_layers(rise)), others=others)
    values = rows["value"].droplevel("seeds").unstack()
    assert values.loc["twice"].to_dict() == pytest.approx(
        {"thirds": 16.0, "halves": 12.0, "quarters": 18.0}
    )
    assert set(values.index) == {"as judged", "twice", "none"}
    of_none = rows.xs("none", level="estimator")
    assert (of_none["verdict"] == "smaller than published").all()


def test_each_specification_has_its_own_runs_before_training():
    """An estimator that finds as much in the initial models finds that training adds nothing."""
    ours = runs(mt=[3.0, 3.1, 3.0], untrained=[1.0, 1.1, 1.0])
    same = runs(mt=[3.0, 3.1, 3.0], untrained=[3.1, 3.0, 3.1])
    rows = specified(ours, claim(of("mt")), others={"same": ("change", same)})
    assert rows.loc[("as judged", "thirds", "all"), "verdict"] == "reproduced"
    assert rows.loc[("same", "thirds", "all"), "verdict"] == "undecided"
