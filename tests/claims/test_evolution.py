"""The evolution paper's claims, judged by its own curves: as published, reversed, blurred."""

import numpy as np
import pandas as pd
import pytest

from bottomup.claims import NotMeasuredError, curves, published
from bottomup.claims.evolution import CLAIMS
from bottomup.claims.tables import LEARNING, learning_curves, of_seeds, table
from bottomup.claims.words import OF_FIRST_SEED
from bottomup.core.errors import UserError
from tests.claims import made_up
from tests.claims.made_up import BY_NAME, blurred, finding, moved, value, value_of, where

pytestmark = pytest.mark.long

NAMES = [claim.name for claim in CLAIMS]
# On one condition, which reversed curves do not meet.
HUBS = "frequent_tokens_pass_information_on"
WHERE_EXTREME = ["rarest_tokens_not_extreme_in_mlm", "token_dropout_ends_extreme_influence"]


def judged(frames, names=NAMES):
    return made_up.judged(frames, [BY_NAME[name] for name in names])


def verdict_of(name, frames):
    return judged(frames, [name])["verdict"].item()


def reversed_curves(frames):
    """Every difference with the opposite sign."""
    reverse = {}
    for name in {BY_NAME[name].measure for name in NAMES} - {LEARNING}:
        values = frames[name][value_of(frames[name])]
        # Ratios of groups turn round as 1 / value, differences as -value.
        turned = 1 / values if name in ("change", "influence") else -values
        reverse[name] = moved(frames[name], turned)
    # Not to fall has no opposite but to fall at every step, as MT does.
    steps, turned = frames["pwcca_between_layers"], reverse["pwcca_between_layers"]
    falling = steps[steps["objective"] == "mt"]
    others = [falling.assign(objective=name) for name in ("lm", "mlm")]
    mt = turned[turned["objective"] == "mt"]
    curves = frames[LEARNING].replace({"objective": {"lm": "mlm", "mlm": "lm"}})
    return reverse | {"pwcca_between_layers": pd.concat([mt, *others]), LEARNING: curves}


def changed(frames, name, by, **rows):
    """`by` added to the values of the rows where each column has the value given."""
    frame = frames[name]
    return frames | {name: moved(frame, frame[value_of(frame)] + by * where(frame, **rows))}


def test_the_published_curves_reproduce_every_claim(as_published):
    claims = judged(as_published)
    assert len(claims) == len(set(NAMES))
    assert (claims["verdict"] == "reproduced").all(), claims["verdict"]
    assert (claims["seeds"] == "1 2 3").all() and (claims["runs"] == 3).all()
    # The margin is taken from them.
    assert (claims["value"] / claims["published"] - 1).abs().max() < 0.01


def test_reversed_curves_contradict_every_claim(as_published):
    verdicts = judged(reversed_curves(as_published))["verdict"]
    others = verdicts.drop([*WHERE_EXTREME, HUBS])
    assert (others == "contradicted").all(), others
    # Where MT and LM lack the influence, nobody else can lack it in contrast; and what takes in
    # nothing has nothing to pass on.
    assert (verdicts[[*WHERE_EXTREME, HUBS]] == "undecided").all()


def test_more_extreme_influence_elsewhere_contradicts_that_it_is_missing_there(as_published):
    frame = as_published["influence"]
    parts = [frame[frame["objective"].isin(["mt", "lm"])]]
    for source, name in (("mt", "mlm"), ("mt", "mt_noise"), ("lm", "lm_noise")):
        parts.append(frame[frame["objective"] == source].assign(objective=name))
    frames = as_published | {"influence": pd.concat(parts, ignore_index=True)}
    for name in ("mlm", "mt_noise", "lm_noise"):
        where = {"objective": name, "group": "10k-30k", "layer": 1}
        frames = changed(frames, "influence", 0.05, **where)
    assert (judged(frames, WHERE_EXTREME)["verdict"] == "contradicted").all()


@pytest.mark.filterwarnings("ignore:invalid value encountered in log")
def test_much_noise_leaves_every_claim_undecided():
    claims = judged(blurred(published.frames((1, 2)), 10.0))
    # Of learning curves no noise is known but how often they were evaluated.
    noisy = claims.drop("mlm_learns_slower")
    assert (noisy["verdict"] == "undecided").all(), noisy["verdict"]
    assert claims["value"].notna().all()


def test_an_untrained_network_that_forgets_most_of_what_training_does_is_forced_to(as_published):
    """Above the embeddings MT, LM and MLM lose 0.4 nats here; 0.3 without training are more than
    half of that, 0.1 are less."""
    frame = as_published["mutual_information"].query("label == 'input' and reading == 'plain'")
    above = frame["layer"] > 0
    for lost, expected in ((0.3, 0.2 - 0.3), (0.1, 0.2 - 0.1)):
        is_initial = frame["objective"].str.startswith("untrained")
        nats = 5.0 - np.where(is_initial, lost, 0.4) * above
        frames = as_published | {"mutual_information": moved(frame, nats)}
        assert value("untrained_forgets_nothing", frames) == pytest.approx(expected)


def test_the_embeddings_are_no_layer_from_which_information_falls(as_published):
    """From layer 1 to 6 it is level here; all that falls lies below."""
    frame = as_published["mutual_information"]
    where_lm = where(frame, objective="lm", label="input")
    nats = frame["mi_nats"].mask(where_lm, np.where(frame["layer"] > 0, 4.0, 5.0))
    assert value("lm_forgets_input", {"mutual_information": moved(frame, nats)}) == 0


def test_without_tables_no_claim_is_measured(as_published):
    empty = {name: frame.iloc[:0] for name, frame in as_published.items() if name != "gates"}
    for frames in ({}, empty):
        claims = judged(frames)
        assert (claims["verdict"] == "not measured").all() and claims["value"].isna().all()


ABOUT = {
    "mt": ("lm_forgets_input", "mt_keeps_position_best"),
    "mlm": ("mt_forgets_less", "mlm_reconstructs_input"),
    "untrained": ("lm_forgets_most", "untrained_forgets_nothing"),
    "mt_noise": ("rarest_tokens_extreme", "token_dropout_ends_extreme_influence"),
}


@pytest.mark.parametrize("objective", ABOUT)
def test_a_study_without_an_objective_decides_the_rest(as_published, objective):
    def without(frame):
        names = [name for name in frame if name.startswith("objective")]
        return frame[(frame[names] != objective).all(axis="columns")]

    measures = {BY_NAME[name].measure for name in NAMES}
    claims = judged({name: without(as_published[name]) for name in measures})
    decided = claims[claims["verdict"] == "reproduced"]
    rest = claims.drop(decided.index)
    assert (rest["verdict"] == "not measured").all() and rest["value"].isna().all()
    assert rest["undecided_until"].str.startswith("the study measures it").all()
    about_others, about_it = ABOUT[objective]
    assert about_others in decided.index and about_it in rest.index
    # What is about training is marked where nothing is beside it.
    if objective == "untrained":
        marks = claims.loc["mt_forgets_less", "provisional"]
        assert marks == "no initial models beside it"


def test_a_single_seed_decides_nothing_and_says_so():
    """Nothing tells how far a second one would be; how far the text varies is shown."""
    claims = judged(blurred(published.frames((3,)), 1e-4))
    measured = claims[claims["verdict"] != "not measured"]
    assert (measured["verdict"] == "undecided").all() and measured["power"].isna().all()
    assert measured["provisional"].str.startswith("one run").all()
    assert (measured["undecided_until"] == "a second run tells how far runs are apart").all()
    assert measured["ci_low"].notna().sum() >= 30
    unmeasured = claims.index[claims["verdict"] == "not measured"]
    assert set(unmeasured) == {
        *("seeds_closer_than_objectives", "seeds_closer_without_shared_weights"),
    }


def test_a_table_of_the_first_seed_decides_nothing_whatever_seeds_others_have():
    frames = blurred(published.frames((1, 2, 3)), 1e-4)
    frames["change"] = frames["change"].query("seed == 1")
    claims = judged(frames, ["frequent_tokens_change_more", "mlm_keeps_token_best"])
    assert claims.loc["frequent_tokens_change_more", "undecided_until"] == OF_FIRST_SEED
    assert claims.loc["mlm_keeps_token_best", "verdict"] == "reproduced"


def test_one_seed_beside_a_checkpoint_is_no_first_seed_of_several():
    """A second look would bring the second seed, so it is asked for."""
    frames = blurred(published.frames((1,)), 1e-4)
    elsewhere = frames["neighbors"].query("objective == 'lm'")
    elsewhere = elsewhere.assign(objective="bert", seed=0)
    frames["neighbors"] = pd.concat([frames["neighbors"], elsewhere])
    claims = judged(frames, ["frequent_tokens_change_more", "mlm_keeps_token_best"])
    assert (claims["undecided_until"] == "a second run tells how far runs are apart").all()


def test_two_seeds_are_one_pair_of_runs(two_seeds):
    claims = judged(two_seeds, ["seeds_closer_than_objectives", "mt_and_mlm_closest"])
    assert claims["runs"].tolist() == [1, 2]
    assert claims["provisional"].iloc[0] == "one pair of runs"
    # How far another pair would be is not known.
    assert claims["verdict"].iloc[0] == "undecided"
    assert claims["undecided_until"].iloc[0] == "a third run, for more than one pair"


def test_one_layer_out_of_line_does_not_turn_a_claim(as_published):
    # Above layer 0 and below layer 3: monotonic no more, and yet falling.
    frames = changed(as_published, "mutual_information", 0.05, objective="lm", layer=1)
    assert verdict_of("lm_forgets_input", frames) == "reproduced"
    frames = changed(as_published, "neighbors", 0.03, objective="mlm", property="ccg", layer=1)
    assert verdict_of("mlm_ccg_rises_then_falls", frames) == "reproduced"


def test_one_seed_can_withhold_a_verdict(as_published):
    frames = changed(as_published, "neighbors", 0.2, objective="lm", property="token", seed=2)
    assert verdict_of("mlm_keeps_token_best", frames) == "undecided"


def test_token_dropout_ends_nothing_where_nothing_stands_out(as_published):
    # MT's rarest bin like its neighbors: no extreme influence, so nothing to end.
    frames = changed(as_published, "influence", -0.0043, objective="mt", group="10k-30k", layer=1)
    assert verdict_of("rarest_tokens_extreme", frames) == "undecided"
    assert verdict_of("token_dropout_ends_extreme_influence", frames) == "undecided"


def test_pairs_of_runs_with_and_without_shared_weights_are_told_apart(as_published):
    frame = as_published["pwcca_between_runs"]
    nearer = frame["distance"] - 0.3 * (frame["seed_a"] == frame["seed_b"])
    frames = as_published | {"pwcca_between_runs": moved(frame, nearer)}
    assert verdict_of("seeds_closer_than_objectives", frames) == "contradicted"
    assert verdict_of("seeds_closer_without_shared_weights", frames) == "reproduced"


def test_what_shuffled_labels_show_is_no_information_with_the_output(as_published):
    frame = as_published["mutual_information"]
    # All that rises is what chance finds, too.
    drift = frame.assign(shuffled_mi_nats=frame["mi_nats"] - 1)
    frames = as_published | {"mutual_information": drift}
    assert value("lm_predicts_output", frames) == pytest.approx(0, abs=1e-9)
    assert value("lm_forgets_input", frames) == value("lm_forgets_input", as_published)


def test_a_layer_whose_chance_is_unknown_leaves_out_its_run(as_published):
    frame = as_published["mutual_information"]
    of_output = where(frame, objective="lm", label="output")
    top = of_output & (frame["seed"] == 2) & (frame["layer"] == 6)
    unknown = frame.assign(shuffled_mi_nats=frame["shuffled_mi_nats"].mask(top))
    one = finding("lm_predicts_output", as_published | {"mutual_information": unknown})
    assert one.replicates.seeds == [1, 3]
    # A classifier shuffles nothing.
    none = frame.assign(shuffled_mi_nats=np.nan)
    frames = as_published | {"mutual_information": none}
    assert value("lm_predicts_output", frames) == value("lm_predicts_output", as_published)


def test_bins_are_ordered_by_rank(as_published):
    frame = as_published["influence"].query("seed == 1")
    shuffled = frame.sample(frac=1, random_state=0)
    for some in (frame, shuffled):
        ranks = curves.by_rank({"influence": table("influence", some)}, "influence", "mt")
        # As published, from rank 1-10 to 10k-30k.
        first = [layers[0, 0] for layers in ranks]
        assert (first[0], first[-1]) == pytest.approx((0.000265, 0.005907))


@pytest.mark.filterwarnings("error")
def test_a_ratio_of_what_is_not_above_0_has_no_logarithm():
    found = curves.log_ratio(np.array([1.0, -1.0, 2.0, 0.0]), np.array([4.0, 2.0, -2.0, 1.0]))
    assert found == pytest.approx([-2 * np.log(2), *[np.nan] * 3], nan_ok=True)


@pytest.mark.parametrize(
    ("n", "bottom", "middle", "top"),
    [
        (6, [0, 1], [2, 3], [4, 5]),
        (5, [0], [1, 2, 3], [4]),
        (11, [0, 1, 2], [3, 4, 5, 6, 7], [8, 9, 10]),
        (3, [0], [1], [2]),
        (4, [0], [1, 2], [3]),
        (7, [0, 1], [2, 3, 4], [5, 6]),
    ],
)
def test_thirds(n, bottom, middle, top):
    layers = list(range(n))
    thirds = (curves.bottom(layers), curves.middle(layers), curves.top(layers))
    assert thirds == (bottom, middle, top)


def test_a_model_of_two_layers_has_no_middle():
    """Were it the mean of both, no two layers could rise and fall, whatever they hold."""
    assert (curves.bottom([0, 1]), curves.top([0, 1])) == ([0], [1])
    with pytest.raises(NotMeasuredError, match="step or group between the bottom and the top"):
        curves.middle([0, 1])


@pytest.mark.parametrize("part", [curves.bottom, curves.middle, curves.top])
@pytest.mark.parametrize("n", [0, 1])
def test_one_layer_has_neither_bottom_nor_top(part, n):
    with pytest.raises(NotMeasuredError, match="second layer, step or group"):
        part(list(range(n)))


def test_of_one_layer_no_claim_on_change_is_measured(as_published):
    change = as_published["change"]
    rows = judged({"change": change[change["layer_a"] == 0]})
    assert set(rows["verdict"]) == {"not measured"}


def test_one_step_cannot_be_even_at_the_top(as_published):
    """Two layers have one step, of which half is less than the whole in any model."""
    frame = as_published["change"]
    for layers in (2, 3):
        few = {"change": frame[frame["layer_b"] <= layers].reset_index(drop=True)}
        if layers == 3:
            assert np.isfinite(value("lm_change_even_at_top", few))
        else:
            with pytest.raises(NotMeasuredError, match="tells the top from the bottom"):
                value("lm_change_even_at_top", few)


def test_layers_of_a_claim_leave_out_the_embeddings(as_published):
    names = ["mlm_keeps_token_best", "mt_keeps_position_best", "mt_and_mlm_closest"]
    names.append("frequent_tokens_change_more")
    below = {
        "neighbors": {"layer": 0},
        "change": {"layer_a": 0, "layer_b": 1},
        "pwcca_between_runs": {"layer": 0},
    }
    frames = {name: as_published[name] for name in below}
    with_embeddings = {
        name: pd.concat(
            [
                frame,
                moved(frame, 9.0)
                .assign(**below[name])
                .drop_duplicates(
                    [column for column in frame if column not in (value_of(frame), "without")]
                ),
            ]
        )
        for name, frame in frames.items()
    }
    for name in names:
        assert value(name, with_embeddings) == value(name, frames)


def test_several_values_for_a_layer_are_a_mistake(as_published):
    frame = as_published["mutual_information"]
    frames = {"mutual_information": pd.concat([frame, frame.assign(n_clusters=5)])}
    with pytest.raises(
        UserError, match="one layer of the table mutual_information that differ in n_cl"
    ):
        judged(frames, ["lm_forgets_input"])


def test_a_seed_has_its_own_rows(as_published):
    made = made_up.tables({"neighbors": as_published["neighbors"]})
    assert set(of_seeds(made, {2})["neighbors"].rows["seed"]) == {2}


# From tables to statistics, by hand


def influence_of(*layers):
    """MT's influence at each layer: that of the most frequent bin, of the middle one and of the
    rarest; and its change, of which frequent tokens have twice as much."""
    bins = ["1-10", "10-25", "25-50"]
    rows = [
        {"layer": layer, "group": name, "distance": value}
        for layer, values in enumerate(layers, start=1)
        for name, value in zip(bins, values, strict=True)
    ]
    influence = pd.DataFrame(rows)
    change = pd.DataFrame({"group": bins, "distance": [0.2, 0.1, 0.1], "layer_a": 1, "layer_b": 2})
    both = {"influence": influence, "change": change}
    return {
        name: published.exact(
            frame.assign(objective="mt", seed=1, grouping="frequency_rank", n_occurrences=9)
        )
        for name, frame in both.items()
    }


def test_hubs_gain_influence_above_the_first_layer_beside_tokens_of_middle_frequency():
    # An eighth of the middle bin's, then a half and a quarter; the rarest bin does not count.
    frames = influence_of((1, 8, 99), (1, 2, 1), (2, 8, 3))
    expected = (np.log(1 / 2) + np.log(1 / 4)) / 2 - np.log(1 / 8)
    assert value(HUBS, frames) == pytest.approx(expected)
    with pytest.raises(NotMeasuredError, match="two layers or more"):
        value(HUBS, influence_of((1, 8, 99)))


def test_tokens_that_take_in_information_and_do_not_pass_it_on_are_no_hubs(as_published):
    """At the first layer frequent tokens are as influential as those of middle frequency here."""
    frame = as_published["influence"]
    first = where(frame, objective="mt", grouping="frequency_rank", layer=1)
    frames = as_published | {"influence": moved(frame, frame["distance"].mask(first, 0.001))}
    assert verdict_of(HUBS, frames) == "contradicted"
    # Nor are those that take in less than rare ones, whatever they pass on.
    change = as_published["change"]
    none = {"change": moved(change, 1 / change["distance"])}
    assert verdict_of(HUBS, as_published | none) == "undecided"


def learned(lm, mlm, tokens=(1, 2, 4, 8, 16)):
    """The dev losses of three runs of each objective after these millions of tokens."""
    parts = []
    for name, losses in (("lm", lm), ("mlm", mlm)):
        curve = pd.DataFrame({"tokens": tokens[: len(losses)], "dev_loss_nats": losses})
        parts += [
            curve.assign(tokens=curve["tokens"] * 10**6, objective=name, seed=s) for s in (1, 2, 3)
        ]
    return {LEARNING: pd.concat(parts, ignore_index=True)}


def slower(*curves, **others):
    return value("mlm_learns_slower", learned(*curves, **others))


def test_how_much_slower_mlm_learns_is_read_off_at_one_loss():
    # Both come from 6 to 4; nine tenths of it is 4.2. LM is there after 2 million tokens and 0.9 of
    # the next doubling, MLM after 8 and 0.2.
    lm, mlm = [8, 6, 4, 3, 3], [6, 5.8, 5, 4.25, 4]
    assert slower(lm, mlm) == pytest.approx((3 + 0.2) - (1 + 0.9) - 1)
    # The two parts of two to four times: less than one doubling, and more than two.
    assert slower([8, 6, 4, 3, 3], [8, 6, 4, 3, 3]) == pytest.approx(-1)
    assert slower([6, 3.9, 3, 3, 3], [8, 7, 6, 5, 4]) < 0
    # A loss that rises again was reached: MLM comes to 4, and to 4.2 after 0.8 of a doubling from 4
    # million tokens. One that is not known was not.
    assert slower(lm, [6, 5.8, 5, 4, 4.4]) == pytest.approx((2 + 0.8) - (1 + 0.9) - 1)
    assert slower([8, 6, 4, None, 3], mlm) == slower(lm, mlm)


@pytest.mark.parametrize(
    ("by", "verdict"), [(0.2, "contradicted"), (1.5, "reproduced"), (2.8, "contradicted")]
)
def test_mlm_that_learns_as_fast_or_eight_times_slower_contradicts_two_to_four(by, verdict):
    tokens = 2.0 ** np.arange(0, 8, 1 / 8)
    losses = 12 - np.log2(tokens)
    frames = learned(losses, losses + by, tokens)
    assert verdict_of("mlm_learns_slower", frames) == verdict


def test_trainings_of_unequal_length_do_not_say_which_objective_learns_slower():
    with pytest.raises(NotMeasuredError, match="equally many tokens"):
        slower([8, 6, 4], [8, 7, 6, 5, 4])
    with pytest.raises(NotMeasuredError, match="both come to"):
        slower([8, 7, 6, 6, 6], [5, 5, 5, 4, 4])
    with pytest.raises(NotMeasuredError, match="objective lm in the table learning_curves"):
        frames = learned([4, 3], [4, 3])
        value("mlm_learns_slower", {LEARNING: frames[LEARNING].query("objective == 'mlm'")})


def test_learning_curves_are_those_of_runs():
    curve = pd.DataFrame({"step": [1, 2], "tokens": [10, 20], "dev_loss_nats": [5.0, 4.0]})
    found = learning_curves({"lm-1": curve, "lm_noise-12": curve[:1]})
    assert found.rows[["objective", "seed", "tokens"]].to_numpy().tolist() == [
        *(["lm", 1, 10], ["lm", 1, 20]),
        ["lm_noise", 12, 10],
    ]
    assert found.n_blocks == 0 and found.split == "dev"
