"""From values, draws and runs to intervals and verdicts: by hand, and by simulation."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import polygamma
from scipy.stats import t as student

from bottomup.claims.inference import (
    NO_PRIOR,
    Evidence,
    Prior,
    _inverse_trigamma,
    decide,
    enough,
    errors,
    pooled_prior,
    power,
    variance_of_a_run,
    variance_of_runs,
)
from bottomup.claims.tables import N_DRAWS, NOISE, TEXT

N = 20_000
USUAL = Prior(1.0, 2.0)


def evidence(values, text=0.0, noise=0.0, run=math.nan, n_runs=1, text_df=19):
    """Scalars stand for all parts."""
    values = np.asarray(values, float)
    arrays = [np.broadcast_to(np.asarray(x, float), values.shape) for x in (text, noise, run)]
    return Evidence(values, *arrays, n_runs, text_df)


def simulated(n_runs, effect=0.0, run=1.0, text=0.0, n_parts=1, n=N):
    """Studies with normal errors whose variances are `run` of a run and `text` of all runs."""
    rng = np.random.default_rng(0)
    runs = np.sqrt(run) * rng.standard_normal((n_runs, n, n_parts))
    shared = np.sqrt(text) * rng.standard_normal((n, n_parts))
    estimated = text * rng.chisquare(19, (n, n_parts)) / 19
    own = runs.var(0, ddof=1) if n_runs > 1 else np.full((n, n_parts), np.nan)
    return evidence(effect + shared + runs.mean(0), estimated, run=own, n_runs=n_runs)


def share_decided(found, prior, margin=0.0, one_of=False):
    decision = decide(found, prior, margin, one_of)
    return np.mean(np.minimum(decision.above, decision.below) <= 0.025)


# By hand


def test_what_is_known_of_parts():
    draws = np.zeros((2, 1 + 2 * N_DRAWS))
    draws[:, 0] = 3, 5
    draws[0, TEXT] = np.tile([2.0, 4.0], N_DRAWS // 2)
    draws[1, TEXT] = 7  # as far off as that
    draws[0, NOISE] = 3
    draws[1, NOISE] = np.tile([4.5, 5.5], N_DRAWS // 2)
    # Without each of three seeds, of which the values are 1, 3 and 8, and 5 each.
    left = np.array([[5.5, 5], [4.5, 5], [2, 5]])
    found = Evidence.of(draws, left, frozenset())
    assert found.values.tolist() == [3, 5] and found.n_runs == 3
    assert found.text.tolist() == [1, 4] and found.noise.tolist() == [0, 0.25]
    assert found.run == pytest.approx([np.var([1, 3, 8], ddof=1), 0])
    alone = Evidence.of(draws, left[:0], frozenset())
    assert alone.n_runs == 1 and np.isnan(alone.run).all()


def test_variances_of_text_and_runs_add_and_their_degrees_as_welch_has_them():
    error, df = errors(evidence([0.0], text=2.0, run=6.0, n_runs=3), NO_PRIOR)
    assert error == pytest.approx(2)  # 2 + 6 / 3
    assert df == pytest.approx(4**2 / (2**2 / 19 + 2**2 / 2))
    error, df = errors(evidence([0.0], text=2.0), NO_PRIOR)
    assert (error**2, df) == (pytest.approx(2), pytest.approx(19))
    # Hardly any variance of two runs by their own: four degrees, not the text's nineteen.
    _, df = errors(evidence([0.0], text=2.0, run=1e-9, n_runs=2), USUAL)
    assert df == pytest.approx(4)
    _, df = errors(evidence([0.0], text=2.0, run=1e-9, n_runs=3), NO_PRIOR)
    assert df == pytest.approx(8)


def test_a_small_variance_of_runs_is_drawn_towards_the_usual_one_and_a_large_one_stays():
    prior = Prior(4.0, 2.0)
    small, large = (evidence([0.0], run=run, n_runs=3) for run in (1.0, 9.0))
    assert variance_of_a_run(small, prior) == pytest.approx((2 * 4 + 2 * 1) / 4)
    assert variance_of_a_run(large, prior) == pytest.approx(9)
    # A single run has what is usual.
    assert variance_of_a_run(evidence([0.0]), prior) == pytest.approx(4)
    # Three runs' noise of 2 is one of 6 for each: more than the runs seem to differ.
    assert variance_of_a_run(replace(small, noise=np.array([2.0])), prior) == pytest.approx(6)


def test_a_variance_above_the_usual_one_has_the_degrees_of_its_own_runs():
    _, df = errors(evidence([0.0, 0.0], run=[0.9, 1.1], n_runs=3), USUAL)
    assert df == pytest.approx([4, 2])


def test_all_parts_must_be_above_the_margin():
    found = evidence([3.0, 5.0], text=[1.0, 4.0])
    decision = decide(found, NO_PRIOR, margin=0.5)
    quantile, wider = student.ppf([0.975, 0.9875], 19)
    assert decision.value == 3
    assert decision.low == pytest.approx(min(3 - quantile, 5 - 2 * quantile))
    assert decision.high == pytest.approx(min(3 + wider, 5 + 2 * wider))
    assert decision.above == pytest.approx(max(student.sf(2.5, 19), student.sf(4.5 / 2, 19)))
    # Two chances to be below.
    decision = decide(evidence([-3.0, 5.0], text=1.0), NO_PRIOR, margin=0.5)
    assert decision.below == pytest.approx(2 * student.sf(2.5, 19))


def test_one_part_is_enough_where_one_is_asked_for():
    found = evidence([-3.0, 5.0], text=1.0)
    decision = decide(found, NO_PRIOR, margin=0.5, one_of=True)
    quantile, wider = student.ppf([0.975, 0.9875], 19)
    assert decision.value == 5
    assert (decision.low, decision.high) == pytest.approx((5 - wider, 5 + quantile))
    assert decision.above == pytest.approx(2 * student.sf(4.5, 19))
    assert decision.below == pytest.approx(student.sf(-5.5, 19))


@pytest.mark.parametrize("one_of", [False, True])
def test_intervals_and_p_values_say_the_same(one_of):
    rng = np.random.default_rng(0)
    values = rng.normal(0, 3, (N, 3))
    found = evidence(values, text=rng.chisquare(3, (N, 3)))
    decision = decide(found, NO_PRIOR, margin=0.4, one_of=one_of)
    assert ((decision.above <= 0.025) == (decision.low > 0.4)).all()
    assert ((decision.below <= 0.025) == (decision.high < -0.4)).all()


def test_without_any_spread_nothing_is_decided():
    # Two runs that tie by chance are no certainty.
    for found in (evidence([9.0], run=0.0, n_runs=3), evidence([-9.0], run=0.0, n_runs=2)):
        decision = decide(found, NO_PRIOR, margin=1.0)
        assert (decision.above, decision.below) == (1, 1)
        assert math.isnan(decision.low) and math.isnan(decision.high)


@pytest.mark.parametrize("one_of", [False, True])
@pytest.mark.parametrize("value", [9.0, -9.0, math.nan])
def test_what_is_not_known_decides_nothing(value, one_of):
    nothing = (
        evidence([value], text=math.nan),  # a single block of documents
        evidence([value], text=math.nan, run=1.0, n_runs=3),
        evidence([value]),  # a single run of which no text is read
        evidence([value], text=0.01, n_runs=3),  # runs without one of which there is no value
        evidence([math.nan], text=1.0),
    )
    for found in nothing:
        decision = decide(found, NO_PRIOR, 0.1, one_of)
        assert (decision.above, decision.below) == (1, 1)
    # One part that is not known leaves what the other says against all of them.
    found = evidence([math.nan, -9.0], text=1.0)
    assert decide(found, NO_PRIOR, 0.1).above == 1 and decide(found, NO_PRIOR, 0.1).below < 0.001


# What is usual


def test_the_usual_variance_is_found_again():
    rng = np.random.default_rng(0)
    # Scaled inverse chi-squared with 2 degrees of freedom: as variable as is allowed for.
    true = 0.3 * 2 / rng.chisquare(2, 3000)
    found = [evidence(np.zeros(3000), run=true * rng.chisquare(2, 3000) / 2, n_runs=3)]
    prior = pooled_prior(found)
    assert prior.df == pytest.approx(2, rel=0.1) and prior.variance == pytest.approx(0.3, rel=0.15)
    # Equal ones would have more degrees of freedom, which are not believed.
    found = [evidence(np.zeros(3000), run=0.3 * rng.chisquare(2, 3000) / 2, n_runs=3)]
    assert pooled_prior(found).df == 2
    # More variable ones have fewer.
    true = 0.3 * 0.5 / rng.chisquare(0.5, 3000)
    found = [evidence(np.zeros(3000), run=true * rng.chisquare(2, 3000) / 2, n_runs=3)]
    assert pooled_prior(found).df == pytest.approx(0.5, rel=0.1)


def test_of_few_or_single_runs_nothing_is_usual():
    two = evidence([0.0, 0.0], run=1.0, n_runs=3)
    assert (
        pooled_prior([two]) == pooled_prior([]) == pooled_prior([evidence([0.0] * 9)]) == NO_PRIOR
    )
    assert pooled_prior([two, evidence([0.0], run=1.0, n_runs=2)]).df == 2
    # No variance at all is that of constants.
    assert pooled_prior([two, evidence([0.0] * 5, run=0.0, n_runs=3)]) == NO_PRIOR


@pytest.mark.parametrize("x", [0.1, 1.0, 30.0])
def test_trigamma_is_inverted(x):
    assert _inverse_trigamma(polygamma(1, x)) == pytest.approx(x)


# By simulation


@pytest.mark.parametrize(
    ("n_runs", "times", "most"),
    [
        # Wrong verdicts with variances that are usual, three and ten times so.
        *((2, 1, 0.01), (2, 3, 0.05), (2, 10, 0.1)),
        *((3, 1, 0.02), (3, 3, 0.055), (3, 10, 0.06)),
        *((5, 1, 0.035), (5, 3, 0.055), (5, 10, 0.055)),
        # And in other units: Student's own rate, 5 %.
        *((2, 1e6, 0.055), (3, 1e6, 0.055), (5, 1e6, 0.055)),
    ],
)
def test_error_rates_over_runs(n_runs, times, most):
    assert share_decided(simulated(n_runs, run=times), USUAL) <= most


@pytest.mark.parametrize(
    ("n_runs", "times", "level", "often"),
    [
        *((3, 30, 0.005, 3.5), (3, 30, 0.0005, 17), (3, 10, 0.0005, 12)),
        *((5, 10, 0.005, 1.9), (5, 10, 0.0005, 5), (10, 10, 0.0005, 1.8)),
    ],
)
def test_unusual_runs_are_far_in_the_tail_more_often_than_they_should(n_runs, times, level, often):
    """As docs/claims.md says, of a single claim."""
    decision = decide(simulated(n_runs, run=times, text=0.1, n=200_000), USUAL, 0.0)
    p = 2 * np.minimum(decision.above, decision.below)
    assert np.mean(p <= level) / level == pytest.approx(often, rel=0.25)


def test_one_run_is_as_wrong_as_it_is_unusual():
    shares = [share_decided(simulated(1, run=times), USUAL) for times in (1, 3, 10)]
    assert shares[0] <= 0.01 and shares[1] <= 0.02 and shares[2] >= 0.1  # hence "one run"


@pytest.mark.parametrize("df", [0.25, 0.5, 1.0, 2.0])
def test_one_run_among_usual_ones_is_as_often_wrong_as_it_may_be(df):
    """With variances exactly as the prior has them: it has the degrees of the prior, however
    few."""
    rng = np.random.default_rng(0)
    variances = df / rng.chisquare(df, (N, 1))
    found = evidence(rng.standard_normal((N, 1)) * np.sqrt(variances))
    decision = decide(found, Prior(1.0, df), 0.0)
    p = 2 * np.minimum(decision.above, decision.below)
    for level in (0.05, 0.005):
        assert np.mean(p <= level) == pytest.approx(level, rel=0.35)


def test_runs_that_tie_decide_nothing_and_are_no_usual_variance():
    def runs(*values):
        values = np.array(values)[:, None]
        return variance_of_runs((values.sum(0) - values) / (len(values) - 1))

    ties = evidence([1 / 3], run=runs(1 / 3, 1 / 3, 1 / 3), n_runs=3)
    found = decide(ties, NO_PRIOR, 0.0)
    assert found.above == found.below == 1 and np.isnan([found.low, found.high]).all()
    others = [
        evidence([1.0], run=runs(*row), n_runs=3) for row in ((1, 2, 2), (1, 3, 1), (1, 1, 5))
    ]
    assert pooled_prior([*others, ties]) == pooled_prior(others)


@pytest.mark.parametrize("n_runs", [2, 3, 5])
def test_students_rate_without_a_prior(n_runs):
    assert share_decided(simulated(n_runs), NO_PRIOR) == pytest.approx(0.05, abs=0.006)


@pytest.mark.parametrize("text", [10.0, 1.0, 0.1, 0.03, 0.01])
def test_two_runs_that_are_alike_by_chance_decide_no_more_than_they_may(text):
    # With the degrees of Welch and Satterthwaite: up to 0.12, where runs vary ten times as text.
    assert share_decided(simulated(2, text=text), NO_PRIOR) <= 0.053


def test_of_many_parts_none_of_which_holds_few_verdicts_are_wrong():
    # 27 gaps that are all truly zero.
    for one_of in (False, True):
        found = simulated(3, run=0.1, text=1.0, n_parts=27, n=2000)
        assert share_decided(found, NO_PRIOR, one_of=one_of) <= 0.05


@pytest.mark.parametrize(
    ("n_parts", "level", "wrong"),
    [(1, 0.025, 0.025), (3, 0.025, 0.07), (6, 0.025, 0.14), (3, 0.0025, 0.007), (6, 0.0025, 0.015)],
)
def test_the_least_of_noisy_parts_lies_below_the_least_of_sure_ones(n_parts, level, wrong):
    """What training adds is their difference; here it adds nothing, and only trained runs vary."""
    runs = np.random.default_rng(0).standard_normal((3, N, n_parts))
    without = ((runs.sum(axis=0) - runs) / 2).min(axis=-1, keepdims=True)
    least = runs.mean(axis=0).min(axis=-1, keepdims=True)
    added = evidence(least, text=1e-10, run=variance_of_runs(without), n_runs=3)
    share = np.mean(decide(added, NO_PRIOR, 0.05).below <= level)
    assert wrong / 2 <= share <= wrong


@pytest.mark.parametrize(("run", "text"), [(1.0, 0.0), (1.0, 0.3), (0.1, 1.0)])
def test_intervals_cover_the_truth(run, text):
    found = simulated(3, effect=2.0, run=run, text=text)
    decision = decide(found, NO_PRIOR, 0.0)
    covered = (decision.low <= 2) & (decision.high >= 2)
    assert 0.94 <= covered.mean() <= 0.975
    # Of two parts the lesser, whichever that is.
    found = simulated(3, effect=np.array([2.0, 2.5]), run=run, text=text, n_parts=2)
    decision = decide(found, NO_PRIOR, 0.0)
    assert np.mean((decision.low <= 2) & (decision.high >= 2)) >= 0.945


def test_more_runs_decide_more():
    shares = [share_decided(simulated(n, effect=3.0), USUAL) for n in (1, 2, 3, 5, 10)]
    assert shares == sorted(shares)
    assert shares[1] < 0.8 and shares[3] > 0.95 and shares[4] > 0.999
    # Text is shared by runs: more of them do not narrow it.
    of_text = [share_decided(simulated(n, effect=1.0, text=1.0), USUAL) for n in (5, 50)]
    assert of_text[1] < 0.25


@pytest.mark.parametrize("effect", [1.0, 2.0, 4.0])
def test_as_many_runs_as_are_enough_decide(effect):
    known = evidence([effect], text=0.01, run=1.0, n_runs=3)
    runs, text = enough(known, USUAL, margin=0.05)
    assert text == 1 and 2 <= runs <= 20
    power = share_decided(simulated(runs, effect=effect, text=0.01), USUAL, margin=0.05)
    assert power >= 0.76


def test_where_runs_do_not_suffice_more_text_does():
    known = evidence([1.0], text=1.0, run=1.0, n_runs=3)
    runs, text = enough(known, NO_PRIOR, margin=0.0)
    assert runs == 20 and text > 5
    found = simulated(runs, effect=1.0, text=1 / text)
    assert 0.76 <= share_decided(found, NO_PRIOR) <= 0.95


def test_the_part_that_needs_most_text_decides_how_much_is_enough():
    alone = enough(evidence([1.0], text=1.0, run=1.0, n_runs=3), NO_PRIOR, margin=0.0)
    both = enough(evidence([1.0, 2.0], text=1.0, run=1.0, n_runs=3), NO_PRIOR, margin=0.0)
    assert alone == both and both[1] > 5


def test_nothing_decides_a_part_within_the_margin():
    def of(*values, one_of=False):
        return enough(evidence(values, text=0.01, run=0.01, n_runs=2), NO_PRIOR, 0.1, one_of)

    assert of(1.0, 0.05) is None
    assert of(1.0, 0.2)
    # One that is below contradicts, whatever the others are.
    assert of(-1.0, 0.05)
    # Of several of which one is asked for, one above shows it.
    assert of(1.0, 0.05, one_of=True) and of(1.0, -1.0, one_of=True)
    assert of(-1.0, 0.05, one_of=True) is None
    assert of(math.nan) is None


@pytest.mark.parametrize(("n_runs", "text"), [(3, 0.0), (5, 0.0), (3, 2.0)])
def test_power_is_the_share_of_studies_that_find_a_part_of_that_size(n_runs, text):
    """It is told by one study, whose estimates are right here."""
    size, margin = 2.5, 0.5
    found = decide(simulated(n_runs, size, text=text), NO_PRIOR, margin)
    told = power(evidence([0.0], text, run=1.0, n_runs=n_runs), NO_PRIOR, size, margin)
    assert 0.1 < told < 0.99 and told == pytest.approx((found.above <= 0.025).mean(), abs=0.03)


def test_power_is_that_of_the_part_that_is_known_worst():
    both = replace(evidence([0.0, 0.0], run=1.0, n_runs=5), run=np.array([0.1, 1.0]))
    worst = power(evidence([0.0], run=1.0, n_runs=5), NO_PRIOR, 1.0, 0.1)
    assert power(both, NO_PRIOR, 1.0, 0.1) == worst
    # One of two is found at half the level.
    assert power(both, NO_PRIOR, 1.0, 0.1, one_of=True) < worst
    assert math.isnan(power(evidence([0.0]), NO_PRIOR, 1.0, 0.1))
