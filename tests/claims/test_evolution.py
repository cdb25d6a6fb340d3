"""The evolution paper's claims, judged by its own curves: as published, reversed, blurred."""

import numpy as np
import pandas as pd
import pytest

from bottomup.claims import curves, published
from bottomup.claims.evolution import CLAIMS
from bottomup.claims.tables import of_seeds, table
from bottomup.core.errors import UserError
from tests.claims import made_up
from tests.claims.made_up import BY_NAME, blurred, moved, value, value_of, where

NAMES = [claim.name for claim in CLAIMS]
WHERE_EXTREME = ["rarest_tokens_not_extreme_in_mlm", "token_dropout_ends_extreme_influence"]


def judged(frames, names=NAMES):
    return made_up.judged(frames, [BY_NAME[name] for name in names])


def verdict_of(name, frames):
    return judged(frames, [name])["verdict"].item()


def reversed_curves(frames):
    """Every difference with the opposite sign."""
    reverse = {}
    for name in {BY_NAME[name].measure for name in NAMES}:
        values = frames[name][value_of(frames[name])]
        # Ratios of groups turn round as 1 / value, differences as -value.
        turned = 1 / values if name in ("change", "influence") else -values
        reverse[name] = moved(frames[name], turned)
    # Not to fall has no opposite but to fall at every step, as MT does.
    steps, turned = frames["pwcca_between_layers"], reverse["pwcca_between_layers"]
    falling = steps[steps["objective"] == "mt"]
    others = [falling.assign(objective=name) for name in ("lm", "mlm")]
    mt = turned[turned["objective"] == "mt"]
    return reverse | {"pwcca_between_layers": pd.concat([mt, *others])}


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
    others = verdicts.drop(WHERE_EXTREME)
    assert (others == "contradicted").all(), others
    # Where MT and LM lack the influence, nobody else can lack it in contrast.
    assert (verdicts[WHERE_EXTREME] == "undecided").all()


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
    assert (claims["verdict"] == "undecided").all(), claims["verdict"]
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
def test_a_study_without_an_objective_decides_the_rest(two_seeds, objective):
    def without(frame):
        names = [name for name in frame if name.startswith("objective")]
        return frame[(frame[names] != objective).all(axis="columns")]

    measures = {BY_NAME[name].measure for name in NAMES}
    claims = judged({name: without(two_seeds[name]) for name in measures})
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


def test_a_single_seed_decides_all_but_the_distance_of_seeds_and_says_so():
    claims = judged(blurred(published.frames((3,)), 1e-4))
    undecided = claims.index[claims["verdict"] != "reproduced"]
    assert set(undecided) == {"seeds_closer_than_objectives", "seeds_closer_without_shared_weights"}
    until = claims.loc[undecided, "undecided_until"]
    assert until.str.contains("pair of runs of two seeds").all()
    assert claims.drop(undecided)["provisional"].str.startswith("one run").all()


def test_two_seeds_are_one_pair_of_runs(two_seeds):
    claims = judged(two_seeds, ["seeds_closer_than_objectives", "mt_and_mlm_closest"])
    assert claims["runs"].tolist() == [1, 2]
    assert claims["provisional"].iloc[0] == "one pair of runs"


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


def test_bins_are_ordered_by_rank(as_published):
    frame = as_published["influence"].query("seed == 1")
    shuffled = frame.sample(frac=1, random_state=0)
    for some in (frame, shuffled):
        ranks = curves.by_rank({"influence": table("influence", some)}, "influence", "mt")
        # As published, from rank 1-10 to 10k-30k.
        first = [layers[0, 0] for layers in ranks]
        assert (first[0], first[-1]) == pytest.approx((0.000265, 0.005907))


@pytest.mark.parametrize(
    ("n", "bottom", "middle", "top"),
    [
        (6, [0, 1], [2, 3], [4, 5]),
        (5, [0], [1, 2, 3], [4]),
        (11, [0, 1, 2], [3, 4, 5, 6, 7], [8, 9, 10]),
        (2, [0], [0, 1], [1]),
        (1, [0], [0], [0]),
    ],
)
def test_thirds(n, bottom, middle, top):
    layers = list(range(n))
    thirds = (curves.bottom(layers), curves.middle(layers), curves.top(layers))
    assert thirds == (bottom, middle, top)


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
    with pytest.raises(UserError, match="several values for one layer that differ in n_clusters"):
        judged(frames, ["lm_forgets_input"])


def test_a_seed_has_its_own_rows(as_published):
    made = made_up.tables({"neighbors": as_published["neighbors"]})
    assert set(of_seeds(made, {2})["neighbors"].rows["seed"]) == {2}
