"""What tables say of a claim: in every run, before and after training."""

import math

import numpy as np
import pandas as pd
import pytest

from bottomup.claims import NotEnoughError, NotMeasuredError
from bottomup.claims.finding import Replicates, Runs, find, find_all, priors
from bottomup.claims.inference import NO_PRIOR, Prior
from bottomup.core.errors import UserError
from tests.claims.made_up import INITIAL, claim, judged, named, of_runs, of_seeds, tables

PAIR = ["objective_a", "seed_a", "objective_b", "seed_b"]


def runs_of(**values):
    """A table of runs with a value for each seed, by objective."""
    return tables({"change": of_seeds(**values)})


def of(*objectives):
    """A claim's parts: the values of these objectives."""
    return lambda found: [
        found["change"].where(objective=name).values("distance")[0] for name in objectives
    ]


def found_of(made_up, these):
    found, missing = find_all([made_up], these, INITIAL)
    if missing:
        raise missing[made_up.name]
    return found[made_up.name]


def test_runs_are_averaged_and_left_out_in_turn():
    found = Replicates.of(of("mt", "lm"), Runs.of(runs_of(mt=[1, 2, 6], lm=[5, 5, 5])), False)
    assert found.seeds == [1, 2, 3]
    assert found.whole[:, 0] == pytest.approx([3, 5])
    np.testing.assert_allclose(found.without, [[4, 5], [3.5, 5], [1.5, 5]])
    assert found.extreme(one_of=False).without[:, 0] == pytest.approx([4, 3.5, 1.5])
    assert found.extreme(one_of=True).whole[0, 0] == 5


def test_a_seed_that_lacks_an_objective_is_left_out():
    these = runs_of(mt=[1, 2, 6], lm=[5, 5])
    found = Replicates.of(of("mt", "lm"), Runs.of(these), False)
    assert found.seeds == [1, 2] and found.whole[:, 0] == pytest.approx([1.5, 5])
    alone = Replicates.of(of("mt"), Runs.of(runs_of(mt=[7])), False)
    assert alone.seeds == [1] and alone.without.shape == (0, 1)
    with pytest.raises(NotMeasuredError, match="objective mlm"):
        Replicates.of(of("mlm"), Runs.of(these), False)


def test_what_is_missing_is_told_by_a_seed_that_has_the_models():
    """Others lack MT, and so does the seed 0 of checkpoints."""

    def second(found):
        rows = found["change"].where(objective="mt").where(objective="mt", ci_high=1.0)
        return [rows.values("distance")[0]]

    def more(found):
        found["change"].where(objective="mt")
        raise NotEnoughError("a wider MT")

    frame = of_seeds(mt=[1], lm=[1, 2, 3])
    frame.loc[frame["objective"] == "lm", "seed"] -= 1
    these = Runs.of(tables({"change": frame}))
    for parts, found in ((second, "objective mt, ci_high 1.0 in the table"), (more, "a wider MT")):
        with pytest.raises(NotMeasuredError, match=f"^{found}"):
            Replicates.of(parts, these, False)


def pairs(distances):
    """Of runs by their objective and seed, with the distances given."""
    rows = pd.DataFrame([*distances], columns=PAIR).assign(layer=1)
    made = of_runs([*distances.values()], 0.01, np.random.default_rng(0))
    return pd.concat([rows, made], axis="columns")


def test_pairs_of_seeds_are_left_out_by_seed():
    distances = {("lm", 1, "lm", 2): 1.0, ("lm", 1, "lm", 3): 2.0, ("lm", 2, "lm", 3): 6.0}

    def apart(found):
        return [found["pwcca_between_runs"].where().values("distance").mean(0)]

    def of_pairs(some):
        return Replicates.of(apart, Runs.of(tables({"pwcca_between_runs": pairs(some)})), True)

    found = of_pairs(distances)
    assert found.whole[0, 0] == pytest.approx(3)
    assert found.without[:, 0] == pytest.approx([6, 2, 1])
    single = of_pairs({("lm", 1, "lm", 2): 1.0})
    assert single.without.shape == (0, 1) and single.evidence(frozenset()).n_runs == 1


def test_seeds_of_other_runs_are_no_repeats_of_these():
    distances = {("lm", 1, "lm", 2): 1.0, ("lm", 1, "lm", 3): 2.0, ("lm", 2, "lm", 3): 6.0}
    others = {("untrained", a, "untrained", b): 0.5 for a, b in ((3, 4), (4, 5))}

    def apart(found):
        lm = found["pwcca_between_runs"].where(objective_a="lm")
        return [lm.values("distance").mean(0)]

    these = tables({"pwcca_between_runs": pairs(distances | others)})
    found = Replicates.of(apart, Runs.of(these), True)
    assert found.seeds == [1, 2, 3] and found.evidence(frozenset()).n_runs == 3


def test_a_part_with_fewer_seeds_has_no_more_runs_than_these():
    """Or its interval would be narrower by the seeds of another objective."""
    of_lm = {("lm", a, "lm", b): a + b for a in range(1, 6) for b in range(a + 1, 6)}
    of_mlm = {("mlm", 1, "mlm", 2): 1.0, ("mlm", 1, "mlm", 3): 2.0, ("mlm", 2, "mlm", 3): 6.0}

    def apart(found):
        rows = found["pwcca_between_runs"]
        return [rows.where(objective_a=name).values("distance").mean(0) for name in ("lm", "mlm")]

    these = tables({"pwcca_between_runs": pairs(of_lm | of_mlm)})
    found = Replicates.of(apart, Runs.of(these), True)
    assert found.seeds == [1, 2, 3] and found.evidence(frozenset()).n_runs == 3
    assert found.whole[:, 0] == pytest.approx([4, 3]), "of LM the pairs of these seeds"


@pytest.mark.parametrize("others", [("lm", 1, "bert", 0), ("lm", 2, "lm", 3)])
def test_a_single_pair_is_of_its_own_seeds(others):
    """Not of those of a checkpoint, nor of what only a part has."""
    of_pair = {("lm", 1, "lm", 2): 1.0, ("mlm", 1, "mlm", 2): 2.0}

    def apart(found):
        rows = found["pwcca_between_runs"]
        return [
            rows.where(objective_a=name, objective_b=name).values("distance").mean(0)
            for name in ("lm", "mlm")
        ]

    these = tables({"pwcca_between_runs": pairs(of_pair | {others: 9.0})})
    found = Replicates.of(apart, Runs.of(these), True)
    assert (found.seeds, found.whole[:, 0].tolist()) == ([1, 2], [1, 2])
    assert found.evidence(frozenset()).n_runs == 1


@pytest.mark.parametrize("without", [(2,), (2, 5)])
def test_pairs_with_a_run_without_numbers_are_as_if_it_were_not_there(without):
    def apart(found):
        return [found["pwcca_between_runs"].where().values("distance").mean(0)]

    distances = {("lm", a, "lm", b): a + b for a in range(1, 6) for b in range(a + 1, 6)}
    spoilt = {
        pair: math.nan if {pair[1], pair[3]} & {*without} else of for pair, of in distances.items()
    }
    known = {pair: of for pair, of in distances.items() if not {pair[1], pair[3]} & {*without}}
    one, other = (
        Replicates.of(apart, Runs.of(tables({"pwcca_between_runs": pairs(some)})), True)
        for some in (spoilt, known)
    )
    assert one.seeds == other.seeds == sorted({1, 2, 3, 4, 5} - {*without})
    assert one.whole[0, 0] == other.whole[0, 0]
    np.testing.assert_array_equal(one.without, other.without)


def test_what_training_adds_is_over_the_same_runs():
    these = runs_of(mt=[3, 5], untrained=[1, 1.5, 40])
    found = found_of(claim(of("mt")), these)
    # Seed 3 was not trained.
    assert found.before.seeds == [1, 2] and found.before.whole[0, 0] == pytest.approx(1.25)
    assert found.difference.whole[0, 0] == pytest.approx(4 - 1.25)
    assert found.difference.without[:, 0] == pytest.approx([3.5, 2])
    # Where an initial model is missing, the others tell; without any, or if the claim is not about
    # training, nothing does.
    fewer = found_of(claim(of("mt")), runs_of(mt=[3, 5, 40], untrained=[1, 1.5]))
    assert fewer.difference.seeds == [1, 2] and fewer.parts.n_runs == 3
    assert fewer.difference.whole[0, 0] == pytest.approx(4 - 1.25)
    assert fewer.difference.without[:, 0] == pytest.approx([3.5, 2])
    assert found_of(claim(of("mt")), runs_of(mt=[3, 5])).added is None
    assert found_of(claim(of("mt"), of_training=False), these).added is None


def test_each_objective_is_beside_the_model_with_its_mask():
    these = runs_of(lm=[3.0], mlm=[4.0], untrained=[1.0], untrained_causal=[2.0])
    found = found_of(claim(of("lm", "mlm")), these)
    assert found.before.whole[:, 0].tolist() == [2, 1]


def decided(**values):
    one = found_of(claim(of(*(name for name in values if name != "untrained"))), runs_of(**values))
    return one.decided(NO_PRIOR).p.alone


def test_training_must_add_to_what_a_claim_shows():
    assert decided(mt=[3, 3.1, 3.2]) == "reproduced"
    assert decided(mt=[3, 3.1, 3.2], untrained=[1, 1, 1]) == "reproduced"
    # As much before training; and more: the sentence itself is not refuted.
    assert decided(mt=[3, 3.1, 3.2], untrained=[3.1, 3, 3.2]) == "undecided"
    assert decided(mt=[3, 3.1, 3.2], untrained=[5, 5, 5]) == "undecided"
    # It adds, but not enough to turn what is against the sentence; it takes away.
    assert decided(mt=[-3, -3.1, -3.2], untrained=[-5, -5, -5]) == "learned in part"
    assert decided(mt=[-3, -3.1, -3.2], untrained=[-3.1, -3, -3.2]) == "absent, as before training"
    assert decided(mt=[-3, -3.1, -3.2], untrained=[5, 5, 5]) == "contradicted"


@pytest.mark.parametrize(
    ("condition", "expected"), [(2.0, "reproduced"), (0.0, "undecided"), (-2.0, "undecided")]
)
def test_nothing_is_said_unless_the_condition_is_met(condition, expected):
    these = runs_of(mt=[3, 3.1, 3.2], lm=[condition, condition + 0.1, condition - 0.1])
    conditional = claim(of("mt"), where=of("lm"))
    assert found_of(conditional, these).decided(NO_PRIOR).p.alone == expected
    against = claim(lambda found: [-part for part in of("mt")(found)], where=of("lm"))
    expected = "contradicted" if expected == "reproduced" else "undecided"
    assert found_of(against, these).decided(NO_PRIOR).p.alone == expected


@pytest.mark.parametrize(("size", "expected"), [(None, "reproduced"), (2.0, "undecided")])
def test_a_condition_in_another_unit_has_its_own_runs_alone(size, expected):
    """It is 3.5 standard errors above the margin of 0.1. Student's t asks for 2.8 of them with the
    four degrees of freedom of runs and prior, and for 4.3 with the two of three runs."""
    these = runs_of(mt=[30, 30.1, 30.2], lm=[1.12, 2.12, 3.12])
    conditional = claim(of("mt"), where=of("lm"), where_size=size)
    assert found_of(conditional, these).decided(Prior(1.001, 2.0)).p.alone == expected


@pytest.mark.parametrize("unit", [0.01, 1.0, 100.0])
def test_a_condition_in_another_unit_does_not_hang_on_that_of_the_claim(unit):
    """Of a size of 40 a twentieth is 2: 1.9 is not above it, and 2.5 is, whatever the claim is
    counted in."""

    def word(condition):
        these = runs_of(mt=[3, 3.1, 3.2], lm=condition + np.array([0, 0.01, -0.01]))
        conditional = claim(
            lambda found: [unit * part for part in of("mt")(found)],
            published=2 * unit,
            where=of("lm"),
            where_size=40.0,
        )
        one = found_of(conditional, these)
        return one.decided(priors({"it": one})["it"]).p.alone

    assert [word(condition) for condition in (1.9, 2.5)] == ["undecided", "reproduced"]


@pytest.mark.parametrize(("n_runs", "word"), [(1, "undecided"), (3, "reproduced")])
@pytest.mark.parametrize(("usual", "size"), [(NO_PRIOR, None), (Prior(0.01, 2.0), 1.0)])
def test_a_condition_on_one_run_is_not_met_by_its_documents(n_runs, word, usual, size):
    """Even where it is 200 of their standard errors large: nothing tells of other runs, also where
    the usual variance is in another unit."""
    these = runs_of(mt=[3, 3.1, 3.2], lm=[2.0, 2.1, 1.9][:n_runs])
    one = found_of(claim(of("mt"), where=of("lm"), where_size=size), these)
    assert one.decided(usual).p.alone == word
    assert one.of_one_run(usual) == ("its condition" if n_runs == 1 else "")


def test_one_initial_model_tells_nothing_of_what_training_adds():
    """Neither that it adds, takes away, or that the initial models show the same."""
    for before in (1.0, 5.0):
        one = found_of(claim(of("mt")), runs_of(mt=[3, 3.1, 3.2], untrained=[before]))
        how = one.decided(NO_PRIOR)
        assert (how.added.above, how.added.below, how.initial.above) == (1, 1, 1)
        assert (how.p.alone, one.of_one_run(NO_PRIOR)) == ("undecided", "what training adds")
        # How far documents vary is shown.
        assert how.added.value == pytest.approx(3 - before) and how.added.low < 3 - before
    usual = Prior(0.01, 2.0)
    one = found_of(claim(of("mt")), runs_of(mt=[3, 3.1, 3.2], untrained=[1.0]))
    assert (one.decided(usual).p.alone, one.of_one_run(usual)) == ("reproduced", "")
    assert decided(mt=[-3, -3.1, -3.2], untrained=[5]) != "contradicted"


def test_a_condition_that_was_not_measured_leaves_the_claim_so():
    with pytest.raises(NotMeasuredError):
        found_of(claim(of("mt"), where=of("lm")), runs_of(mt=[3, 3]))


def test_documents_in_one_block_decide_nothing():
    rng = np.random.default_rng(0)
    frame = of_runs([3.0, 3.1, 3.2], 0.1, rng, objective="mt", seed=[1, 2, 3])
    frame["without"] = [np.array([value]) for value in frame["distance"]]
    one = found_of(claim(of("mt")), tables({"change": frame}))
    how = one.decided(NO_PRIOR)
    assert (one.parts.text_df.tolist(), how.p.alone, how.p.side) == ([1], "undecided", 1)
    assert how.own.value == pytest.approx(3.1) and math.isnan(how.own.low)


def test_the_prior_of_a_table_is_that_of_its_claims():
    zero = {"untrained": [0, 0, 0], "untrained_causal": [0, 0, 0]}
    these = runs_of(mt=[1, 2, 3], lm=[1, 4, 7], mlm=[1, 1.5, 2], **zero)
    about = claim(of("mt", "lm", "mlm"))
    found, _ = find_all([about], these, INITIAL)
    prior = priors(found)[about.name]
    # Geometric mean of 1, 9, 1/4 and of the least part's, 1/4: three runs have the factor of two
    # degrees of freedom, as the prior has.
    assert prior.df == 2
    assert prior.variance == pytest.approx((1 * 9 * 0.25 * 0.25) ** 0.25, rel=1e-6)


def test_what_is_usual_does_not_hang_on_the_units_of_claims():
    """In units of 0.01 or of 100, a claim lends its neighbors the same and has its own."""

    def found(unit):
        def large(tables):
            return [unit * part for part in of("mt")(tables)]

        claims = [claim(large, published=2 * unit), claim(of("lm")), claim(of("mlm"))]
        claims = named(claims, ("large", "lm", "mlm"))
        these = runs_of(mt=[1, 2, 3], lm=[1, 4, 7], mlm=[1, 1.5, 2])
        return priors(find_all(claims, these, {})[0])

    one, hundred = found(1.0), found(100.0)
    assert one["lm"].variance == pytest.approx(hundred["lm"].variance)
    assert hundred["large"].variance == pytest.approx(100**2 * one["large"].variance)


def test_a_run_without_numbers_is_no_run():
    for without in (math.nan, math.inf):
        these = runs_of(mt=[3.0, without, 3.2], lm=[1.0, 1.0, 1.0])
        assert found_of(claim(of("mt"), of_training=False), these).replicates.seeds == [1, 3]
    nothing = runs_of(mt=[math.nan] * 3)
    with pytest.raises(NotMeasuredError, match="all values that it rests on are numbers"):
        found_of(claim(of("mt")), nothing)


def test_runs_without_numbers_are_marked():
    table = of_seeds(mt=[3.0, -math.inf, 3.2], untrained=[1.0, 1.1, 1.0])
    row = judged({"change": table}, [claim(of("mt"))]).iloc[0]
    assert (row["runs"], row["provisional"]) == (2, "2 runs of 3")


def test_a_claim_without_its_table_is_missing():
    with pytest.raises(NotMeasuredError):
        find(claim(of("mt")), Runs.of({}), Runs.of({}))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"published": 0.0}, "has published 0; allowed: a number above 0"),
        ({"published": -0.1}, "has published -0.1; allowed: a number above 0"),
        ({"measure": "chnage"}, "has the measure chnage .* allowed: .* of change"),
        ({"published_as": "asumed"}, 'has published_as "asumed"; .* did you mean assumed'),
        (
            {"paper": "beyonde"},
            'has paper "beyonde"; .* did you mean beyond.*; or another, once PAPERS',
        ),
    ],
)
def test_what_no_claim_can_say_is_a_line(data, said):
    """A margin below 0 would let too much hold, and one of 0 has no shares."""
    with pytest.raises(UserError, match=f"the claim <lambda> {said}"):
        found_of(claim(of("mt"), **data), runs_of(mt=[1, 2, 6]))


def test_two_claims_of_one_name_are_a_line():
    """The numbers of the second would stand beside the sentence of the first."""
    twice = [claim(of("mt")), claim(of("mt"))]
    with pytest.raises(UserError, match=r"^two claims are called <lambda>;"):
        find_all(twice, runs_of(mt=[1, 2, 6]), {})


@pytest.mark.parametrize("shape", ["no list", "no value", "a number", "several layers"])
def test_parts_of_another_shape_are_a_line(shape):
    [value] = of("mt")(runs_of(mt=[1]))
    given = {
        "no list": value,
        "no value": [],
        "a number": [0.3],
        "several layers": [np.stack([value, value])],
    }
    with pytest.raises(UserError, match=r"does not give a list of values with their draws"):
        found_of(claim(lambda _: given[shape]), runs_of(mt=[1, 2, 6]))


def where_large(*objectives):
    """Parts that only models with values above 2 have, as only some heads have a function."""

    def parts(found):
        values = of(*objectives)(found)
        if values[0][0] <= 2:
            raise NotMeasuredError("head with the function")
        return values

    return parts


@pytest.mark.parametrize(
    ("values", "asked", "chosen"),
    [
        ({"mt": [1, 3, 1]}, [1, 2, 3], True),
        ({"mt": [1, 3, 3.1]}, [1, 2, 3], False),  # two tell how far runs are apart
        ({"mt": [3]}, [1], False),
        # Other models with other seeds could not show it.
        ({"mt": [3], "lm": [1, 1, 1]}, [1], False),
        # Nor could one without the model beside it.
        ({"mt": [3, 1, 1], "mlm": [5]}, [1], False),
    ],
)
def test_what_one_run_of_several_shows_decides_nothing(values, asked, chosen):
    about = [name for name in values if name != "lm"]
    one = found_of(claim(where_large(*about), of_training=False), runs_of(**values))
    assert (one.asked, one.unrepeated) == (asked, chosen)
    word = one.decided(Prior(1e-4, 2.0)).p.alone
    assert word == ("undecided" if chosen else "reproduced")


def test_a_seed_of_the_other_run_of_a_pair_is_none_of_the_model():
    """MT has one run, which is compared with both of LM's: that the second seed of LM has no MT of
    its own is no result that speaks against the claim."""

    def of_one_seed(found):
        rows = found["pwcca_between_runs"].where(objective_a="lm", objective_b="mt")
        return [rows.values("distance").mean(0)]

    apart = {("lm", 2, "mt", 2): 3.0, ("lm", 7, "mt", 2): 3.1, ("lm", 2, "lm", 7): 3.2}
    these = tables({"pwcca_between_runs": pairs(apart)})
    one = found_of(claim(of_one_seed, measure="pwcca_between_runs", of_training=False), these)
    assert (one.replicates.seeds, one.asked, one.unrepeated) == ([2], [2], False)
