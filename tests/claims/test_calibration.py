"""How often simulated studies are decided, beside studies whose tables are made anew."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bottomup.claims import NotMeasuredError, inference
from bottomup.claims.calibration import COLUMNS, Simulation, Truth, calibrate
from bottomup.claims.finding import find_all
from bottomup.claims.inference import NO_PRIOR, Prior, enough
from tests.claims.made_up import INITIAL, N_BLOCKS, claim, of_seeds, tables
from tests.claims.test_finding import of

OBJECTIVES, SEEDS = ("mt", "lm"), (1, 2, 3)
OF_TEXT, OF_RUN = 0.25, 0.5  # standard deviations; all runs read the same text
# What the three runs of an objective add: of variance 1, and those of the two not correlated.
DEVIATIONS = np.array([[-1, 0, 1], np.array([1, -2, 1]) / 3**0.5])


def study(truth, rng=None):
    """The tables of three runs of two objectives; without `rng` one that has exactly the variances
    that they have on average."""
    if rng is None:
        text, runs = np.zeros((2, 1)), DEVIATIONS
        # Orthogonal in the space of block deviations.
        basis = np.random.default_rng(0).standard_normal((N_BLOCKS, 2))
        deviations = np.linalg.qr(basis - basis.mean(0))[0].T
    else:
        text, runs = rng.standard_normal((2, 1)), rng.standard_normal((2, 3))
        deviations = rng.standard_normal((2, N_BLOCKS)) / (N_BLOCKS - 1) ** 0.5
        deviations -= deviations.mean(-1, keepdims=True)
    scale = OF_TEXT / ((N_BLOCKS - 1) / N_BLOCKS) ** 0.5
    values = np.array(truth)[:, None] + OF_TEXT * text + OF_RUN * runs
    arrays = (values[..., None] + scale * deviations[:, None]).reshape(6, N_BLOCKS)
    frame = pd.DataFrame(
        [(name, seed) for name in OBJECTIVES for seed in SEEDS], columns=["objective", "seed"]
    )
    frame = frame.assign(distance=values.ravel(), ci_low=np.nan, without=[*arrays])
    return {"change": frame}


BOTH = claim(of(*OBJECTIVES), published=1.5, of_training=False)
ONE = replace(BOTH, name="one", one_of=True)


def found(frames, claims=(BOTH, ONE)):
    return find_all(claims, tables(frames), INITIAL)[0]


@pytest.fixture(scope="module")
def calibrated():
    priors = dict.fromkeys([BOTH.name, "one"], NO_PRIOR)
    rows = calibrate(found(study([1.5, 1.5])), {}, priors, 4000, 1)
    assert [*rows] == COLUMNS
    return rows.set_index("claim")


def test_the_made_up_study_has_the_variances_that_it_should():
    parts = found(study([1.5, 1.5]))["one"].parts
    assert parts.run == pytest.approx([OF_RUN**2] * 2)
    assert parts.text == pytest.approx([OF_TEXT**2] * 2)
    rng = np.random.default_rng(0)
    text = [found(study([0, 0], rng), [ONE])["one"].parts.text for _ in range(60)]
    assert np.mean(text) == pytest.approx(OF_TEXT**2, rel=0.15)


def test_a_simulated_study_has_no_intervals_that_nobody_reads(monkeypatch):
    """They took a third of the time."""
    finding = found(study([1.5, 1.5]))["one"]
    simulated = Simulation(finding, NO_PRIOR, 10, np.random.default_rng(0))
    monkeypatch.setattr(inference.student, "ppf", None)
    assert simulated.judged(Truth.of(ONE, finding, None)).p.holds.shape == (10,)


def test_a_condition_in_another_unit_has_a_size_of_its_own():
    """Else a claim about doublings would be tried on rises of 100 points of accuracy."""
    finding = found(study([1.5, 1.5]))["one"]
    both = replace(finding, condition=finding.replicates)
    for size, condition in ((None, ONE.published), (0.25, 0.25)):
        truth = Truth.of(replace(ONE, where_size=size), both, None)
        assert {*truth.condition} == {condition} and {*truth.parts} == {ONE.published}


def by_brute_force(truth, n_studies=150):
    """Shares of studies, made from scratch, in which each claim is reproduced and contradicted."""
    rng, verdicts = np.random.default_rng(0), []
    for _ in range(n_studies):
        findings = found(study(truth, rng))
        verdicts.append([findings[name].decided(NO_PRIOR).p.alone for name in ("<lambda>", "one")])
    verdicts = pd.DataFrame(verdicts, columns=["both", "one"])
    return (verdicts == "reproduced").mean(), (verdicts == "contradicted").mean()


def test_simulated_studies_are_decided_as_often_as_studies_made_from_scratch(calibrated):
    both, one = calibrated.loc["<lambda>"], calibrated.loc["one"]
    reproduced, _ = by_brute_force([1.5, 1.5])
    # Three standard errors of a share of 150.
    assert both["reproduced_if_as_published"] == pytest.approx(reproduced["both"], abs=0.12)
    assert one["reproduced_if_as_published"] == pytest.approx(reproduced["one"], abs=0.12)
    assert 0.2 < reproduced["both"] < reproduced["one"]
    _, contradicted = by_brute_force([-1.5, -1.5])
    assert both["contradicted_if_reversed"] == pytest.approx(contradicted["both"], abs=0.12)
    assert one["contradicted_if_reversed"] == pytest.approx(contradicted["one"], abs=0.12)


def test_where_nothing_is_true_few_studies_are_decided(calibrated):
    assert (calibrated["decided_if_nothing_is_true"] <= 0.055).all()
    # Both parts at zero, or one: by brute force neither is decided more often than this.
    shares = sum(by_brute_force([0, 1.5])) - calibrated["decided_if_nothing_is_true"].iloc[0]
    assert shares["both"] <= 0.04


def test_where_nothing_is_true_as_many_are_decided_as_may_be():
    """One claim of one part, with variances that are known: a twentieth of the studies, no less."""
    one = claim(of("mt"), published=1.5, of_training=False)
    rows = calibrate(found(study([1.5, 1.5]), [one]), {}, {one.name: NO_PRIOR}, 4000, 1)
    [rate] = rows["decided_if_nothing_is_true"]
    assert 0.025 <= rate <= 0.055


def test_with_as_many_runs_as_are_named_four_of_five_studies_reproduce(calibrated):
    row = calibrated.loc["one"]
    assert row["runs_for_80_percent"] > 3 or row["reproduced_if_as_published"] > 0.75
    # Of two parts that are smaller, ten runs would be said to be enough, and are for 76 %.
    small = replace(BOTH, published=1.0)
    rows = calibrate(found(study([1.0, 1.0]), [small]), {}, {small.name: NO_PRIOR}, 2000, 1)
    assert min(*calibrated["reproduced_there"], *rows["reproduced_there"]) >= 0.8


def test_studies_are_simulated_by_the_seed():
    findings, priors = found(study([1.5, 1.5]), [ONE]), {"one": NO_PRIOR}
    once, again, other = (calibrate(findings, {}, priors, 500, seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(once, again)
    assert not once.equals(other)


def test_more_text_is_less_noise_of_text_and_no_less_of_runs():
    one = found(study([1.5, 1.5]), [ONE])["one"]
    for text in (1.0, 4.0):
        simulated = Simulation(one, NO_PRIOR, 4000, np.random.default_rng(0), 3, text)
        drawn = simulated.evidence([one.replicates], [one.parts], np.array([1.5, 1.5]))
        # A variance of 4,000 values is known to 2 %: 4 of these.
        assert drawn.text.mean(0) == pytest.approx([OF_TEXT**2 / text] * 2, rel=0.08)
        assert drawn.values.var(0) == pytest.approx(
            [OF_TEXT**2 / text + OF_RUN**2 / 3] * 2, rel=0.1
        )


def test_where_runs_do_not_suffice_the_text_that_would_is_told_and_does():
    small = replace(ONE, published=0.45)
    rows = calibrate(found(study([0.45, 0.45]), [small]), {}, {"one": NO_PRIOR}, 4000, 1)
    [row] = rows.to_dict("records")
    assert row["runs_for_80_percent"] == 20 and row["text_for_80_percent"] > 1.5
    assert 0.8 <= row["reproduced_there"] < 0.95


@pytest.mark.parametrize("untrained", [[0, 0.4], [0.2]])
def test_fewer_initial_models_than_runs(untrained):
    """What training adds is simulated over as many runs as have both."""
    about = claim(of("mt"))
    frames = {"change": of_seeds(0.1, mt=[2, 2.5, 3], untrained=untrained)}
    one = found(frames, [about])[about.name]
    assert (one.parts.n_runs, one.added.n_runs) == (3, len(untrained))
    simulated = Simulation(one, Prior(0.1, 2.0), 4000, np.random.default_rng(0))
    decided = simulated.judged(Truth(np.array([2.5]), 2.3, np.array([])))
    assert decided.own.value.mean() == pytest.approx(2.5, abs=0.05)
    assert decided.added.value.mean() == pytest.approx(2.3, abs=0.05)
    calibrate({about.name: one}, {}, {about.name: Prior(0.1, 2.0)}, 50, 1)


def test_nothing_true_is_the_worst_of_three():
    frames = study([1.5, 1.0])
    trained = frames["change"]
    before = trained.assign(objective=lambda rows: "untrained_" + rows["objective"])
    names = {"untrained_mt": "untrained", "untrained_lm": "untrained_causal"}
    before = before.assign(objective=before["objective"].map(names))
    of_training = replace(BOTH, of_training=True)
    one = found({"change": pd.concat([trained, before], ignore_index=True)}, [of_training])
    one = one["<lambda>"]
    published = replace(one, replicates=replace(one.replicates, whole=np.array([[2.0], [1.0]])))
    truth = Truth.of(of_training, one, published)
    # The initial models have 1.0 in their lesser part, the trained ones are to have 1.0.
    assert truth.added == pytest.approx(0.0)
    truth = replace(truth, added=0.7)
    nulls = [(null.parts.tolist(), null.added) for null in truth.nothing(one)]
    assert nulls == [([0, 0], 0), ([2, 1], 0), ([2, 0], 0)]
    assert truth.reversed().parts.tolist() == [-2, -1] and truth.reversed().added == -0.7
    alone = found(frames, [ONE])["one"]
    assert len([*truth.nothing(alone)]) == 1
    # Small parts need more text, also where what training adds is large.
    small = replace(truth, parts=np.array([0.45, 0.45]), added=9.0)
    needed = replace(one.parts, values=small.parts)
    runs, text = enough(needed, NO_PRIOR, of_training.margin, of_training.one_of)
    assert small.enough(one, NO_PRIOR) == (runs, text) and text > 1


def test_noise_of_measuring_is_that_of_each_run():
    frames = study([1.5, 1.5])
    one = found(frames, [ONE])["one"]
    noisy = replace(one.parts, noise=np.array([0.5, 0.5]), run=np.zeros(2))
    # Of three runs' mean 0.5, of one run 1.5, of the mean of 12 runs 1.5 / 12.
    runs, _ = enough(noisy, NO_PRIOR, 0.0)
    object.__setattr__(one, "parts", noisy)
    priors = {"one": Prior(0.0, 0.0)}
    rows = calibrate({"one": one}, {}, priors, 4000, 1).set_index("claim")
    assert rows.loc["one", "runs_for_80_percent"] == pytest.approx(runs, abs=runs)
    assert rows.loc["one", "reproduced_there"] > 0.74


def test_what_one_run_of_several_shows_is_decided_in_no_simulated_study():
    """As in the real one; but with more runs it would be."""

    def only_where_large(these):
        values = of("mt")(these)
        if values[0][0] < 1:
            raise NotMeasuredError("head")
        return values

    only = replace(claim(only_where_large, of_training=False), name="only")
    some = found({"change": of_seeds(mt=[2.0, 0.5, 0.6])}, [only])
    row = calibrate(some, {}, {"only": Prior(0.01, 2.0)}, 200, 1).iloc[0]
    assert row["reproduced_if_as_published"] == 0 and row["runs_for_80_percent"] >= 2


def test_two_runs_that_make_one_pair_are_never_enough():
    each = replace(BOTH, name="each", published=150.0)
    across = replace(each, name="across", across_seeds=True)
    some = found(study([150.0, 150.0]), [each, across])
    rows = calibrate(some, {}, dict.fromkeys(some, Prior(1e-6, 2.0)), 200, 1)
    assert rows["runs_for_80_percent"].tolist() == [2, 3]
