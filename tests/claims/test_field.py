"""The sentences of the field, judged by tables of which the answer is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bottomup.claims import NotMeasuredError, beyond, evolution
from bottomup.claims.field import CLAIMS, apart
from bottomup.claims.finding import find_all, of_condition, priors
from bottomup.claims.inference import NO_PRIOR, Prior
from bottomup.claims.verdicts import corrected
from bottomup.measures.jackknife import ANY
from tests.claims import field_tables
from tests.claims.made_up import (
    BY_NAME,
    INITIAL,
    blurred,
    finding,
    moved,
    tables,
    value,
    where,
)
from tests.claims.null_studies import of_field, of_papers

NAMES = [claim.name for claim in CLAIMS]
# Asked only where attention rests on special tokens.
WHERE_RESTING = ["mlm_special_tokens_do_little", "mt_special_tokens_do_little"]


def frames(*sizes, seeds=(1, 2, 3)):
    return blurred(field_tables.frames(seeds, *sizes), 1e-4)


@pytest.fixture(scope="module")
def true():
    return frames()


def found(frames, names=NAMES):
    every, missing = find_all([BY_NAME[name] for name in names], tables(frames), INITIAL)
    assert not missing
    return every


def verdicts(frames, names=NAMES):
    """Among these sentences."""
    return words_of(found(frames, names))


def words_of(every):
    usual = priors(every)
    sure = corrected({n: one.decided(usual[n]).p for n, one in every.items()})
    return pd.Series({name: of.word for name, of in sure.items()})


def test_where_it_is_so_every_sentence_is_reproduced_at_its_size(true):
    every = found(true)
    words = words_of(every)
    assert len(words) == len(set(NAMES)) >= 20
    assert (words == "reproduced").all(), words
    for one in every.values():
        assert one.replicates.extreme(False).whole[0, 0] == pytest.approx(
            one.claim.published, rel=0.01
        )
        assert one.replicates.seeds == [1, 2, 3]


def test_the_other_way_round_every_sentence_is_contradicted():
    words = verdicts(frames(-1.0))
    others = words.drop(WHERE_RESTING)
    assert (others == "contradicted").all(), others
    assert (words[WHERE_RESTING] == "undecided").all()
    # Where attention does rest there, more effect than weight contradicts.
    assert (verdicts(frames(-1.0, 1.0), WHERE_RESTING) == "contradicted").all()


def test_what_untrained_models_show_as_well_is_not_reproduced(true):
    """The trained models under the names of the untrained ones."""
    known = {"lm": "untrained_causal", "mlm": "untrained"}
    alike = {}
    for name, frame in true.items():
        if "objective" not in frame:
            continue
        trained = frame[frame["objective"].isin(["lm", "mlm", "mt"])]
        copies = [trained[trained["objective"] == a].assign(objective=b) for a, b in known.items()]
        alike[name] = pd.concat([trained, *copies], ignore_index=True)
    # Of what does not start from these.
    others = {
        *("mt_special_tokens_do_little", "lm_teaches_more_syntax", "translation_beats_denoising"),
        *("translations_help_two_stacks_more", "lm_first_helps_mlm"),
        *("both_are_better_than_either", "diffusion_changes_less_below"),
    }
    names = [name for name in NAMES if BY_NAME[name].of_training and name not in others]
    every = found(alike, names)
    for name, one in every.items():
        assert one.added.values == pytest.approx(0), name
    assert set(words_of(every)) == {"undecided"}


@pytest.mark.filterwarnings("ignore:invalid value encountered in log")
def test_much_noise_leaves_every_sentence_undecided():
    # On repeated tokens documents make no noise.
    names = [name for name in NAMES if name != "lm_has_induction_heads"]
    words = verdicts(blurred(field_tables.frames((1, 2)), 10.0), names)
    assert (words == "undecided").all(), words


def test_no_sentence_changes_how_much_runs_vary_in_the_papers_claims():
    """Some rest on the papers' tables; counted with theirs, they would change their verdicts."""
    rng = np.random.default_rng(0)
    others = of_field((1, 2, 3), "alike", rng)
    of_runs = {name: others[name] for name in ("pwcca_between_layers", "pwcca_between_runs")}
    theirs = of_papers((1, 2, 3), "alike", rng)
    papers = [c for c in [*evolution.CLAIMS, *beyond.CLAIMS] if c.measure in of_runs]
    every, _ = find_all(papers, tables({name: theirs[name] for name in of_runs}), INITIAL)
    ours = found(others, [name for name in NAMES if BY_NAME[name].measure in of_runs])
    alone, beside = priors(every), priors(every | ours)
    assert len(every) > 5 and len(ours) == 2
    assert {name: beside[name] for name in every} == alone
    # They are not told the papers' either.
    assert all(beside[name] != alone[other] for name in ours for other in every)


def test_the_embeddings_are_no_layer(true):
    """But of directions, which are compared with them."""
    moved_below = {
        name: moved(frame, frame["value"] + 0.05 * (frame["layer"] == 0))
        for name, frame in true.items()
        if {"layer", "value"} <= {*frame} and name not in ("isotropy", "attention_patterns")
    }
    names = [name for name in NAMES if BY_NAME[name].measure in moved_below]
    before, after = found(true, names), found(true | moved_below, names)
    for name in names:
        assert after[name].replicates.whole[:, 0] == pytest.approx(
            before[name].replicates.whole[:, 0]
        )


# By hand


def test_objectives_differ_if_one_learns_half_as_much_as_another():
    def known(**accuracies):
        parts = [
            field_tables.over_layers([of] * 3, 0.0, objective=name)
            for name, of in ({"untrained": 0.6, "untrained_causal": 0.5} | accuracies).items()
        ]
        frame = pd.concat(parts).assign(task="tag", metric="accuracy", seed=1)
        return {"probes": field_tables.exact(frame)}

    # LM adds 0.3 and MLM 0.2, of which half is 0.125; they are the same.
    same = value("objectives_hardly_differ", known(lm=0.8, mlm=0.8, mt=0.8))
    assert same == pytest.approx((0.2 + 0.2) / 4)
    # MT adds nothing: with MLM half of what both add is 0.05, and they differ by 0.2.
    apart = value("objectives_hardly_differ", known(lm=0.8, mlm=0.8, mt=0.6))
    assert apart == pytest.approx(0.05 - 0.2)


def test_a_head_is_as_far_as_the_nearest_of_the_other_model():
    """Two heads of a layer, one quantity."""
    one, other = (np.array(shares).reshape(1, 1, 2, 1) for shares in ([0.1, 0.5], [0.2, 0.9]))
    # From 0.1 and 0.5 to 0.2 it is 0.1 and 0.3; back from 0.2 and 0.9 it is 0.1 and 0.4.
    assert apart(one, other).item() == pytest.approx((0.1 + 0.3 + 0.1 + 0.4) / 4)
    assert apart(one, one).item() == 0
    # Heads have no names: in another order they are the same ones.
    assert apart(one, one[:, :, ::-1]).item() == 0


def test_stability_of_heads_needs_two_seeds():
    with pytest.raises(NotMeasuredError, match="second seed of lm"):
        finding("middle_heads_least_stable", frames(seeds=(1,)))
    # Two are one pair, which does not tell how far another would be.
    two = verdicts(frames(seeds=(1, 2)), ["middle_heads_least_stable"])
    assert two.item() == "undecided"


def test_attention_that_does_not_rest_on_special_tokens_says_nothing_of_their_effect(true):
    frame = true["attention_patterns"]
    special = frame["quantity"] == "special"
    even = moved(frame, frame["value"].mask(special & (frame["by"] == "weight"), 0.6))
    names = ["mlm_rests_on_special_tokens", *WHERE_RESTING]
    assert set(verdicts({"attention_patterns": even}, names)) == {"undecided"}


def test_heads_that_attend_before_and_after_an_earlier_token_alike_are_no_induction_heads(true):
    frame = true["attention_patterns"]
    after = frame[where(frame, quantity="next_of_earlier")]
    mirrored = after.assign(quantity="previous_of_earlier")
    others = frame[~where(frame, quantity="previous_of_earlier")]
    alike = {"attention_patterns": pd.concat([others, mirrored], ignore_index=True)}
    assert value("lm_has_induction_heads", alike) == 0


def probed(trained, untrained):
    """Accuracy and compression of LM and MLM, and of what they start from."""
    known = {("lm", "mlm"): trained, ("untrained", "untrained_causal"): untrained}
    parts = [
        field_tables.over_layers([of] * 3, 0.0, objective=name, metric=metric)
        for names, values in known.items()
        for name in names
        for metric, of in zip(("accuracy", "compression"), values, strict=True)
    ]
    return pd.concat(parts).assign(task="tag")


def moved_word(between):
    """How far words follow one that moved: MLM's, by third of the layers, where they make room; all
    others half of the way."""
    curves = {("mlm", "between"): between}
    places = [(name, part) for name in INITIAL for part in ("before", "between", "after")]
    parts = [
        field_tables.over_layers(
            curves.get(place, [0.5] * 3), 0.3, objective=place[0], part=place[1]
        )
        for place in places
    ]
    return pd.concat(parts).assign(order="moved", quantity="distance")


def shuffled_words(within_4, shuffled):
    losses = pd.DataFrame({"order": ["within_4", "shuffled"], "value": [within_4, shuffled]})
    return losses.assign(objective="lm", quantity="loss_nats", part="all")


def first_step(lm, diffusion):
    """The lowest of five steps, of which the others are 0.1."""
    distances = {"lm": lm, "diffusion": diffusion, "untrained": 0.1, "untrained_causal": 0.1}
    rows = [
        {"objective": name, "layer_a": n, "layer_b": n + 1, "distance": of if n == 1 else 0.1}
        for name, of in distances.items()
        for n in range(6)
    ]
    return pd.DataFrame(rows)


def repeated(after, before):
    """LM's one head on what followed, and on what came before, the same token; each 0.2 where
    nothing repeats. An untrained head attends alike everywhere."""
    shares = {("lm", "next"): after, ("lm", "previous"): before}
    rows = [
        {
            "objective": name,
            "quantity": f"{side}_of_earlier",
            "value": shares.get((name, side), 0.2),
        }
        for name in ("lm", "untrained_causal")
        for side in ("next", "previous")
    ]
    of_heads = pd.DataFrame(rows).assign(attention="encoder", by="weight", layer=1, head=1)
    return of_heads.assign(baseline=0.2, uniform=0.2)


@pytest.mark.parametrize(
    ("name", "opposite", "least"),
    [
        # Its lower layers change more than its others, LM's even more: 0.12 on average, 0.2 below.
        ("diffusion_changes_less_below", first_step(0.3, 0.2), 0.12 - 0.2),
        # Half the accuracy, nearly the same compression.
        (
            "code_length_tells_more",
            probed((0.45, 1.8), (0.9, 2.0)),
            np.log(1.8 / 2.0) - np.log(0.9 / 0.45),
        ),
        # No places below, less than none above.
        ("mlm_forgets_places", moved_word([0.5, 0.4, 0.3]), 0.0),
        # Words in any order are easier.
        ("order_matters_near_by", shuffled_words(-0.2, -0.8), -0.2),
        # Less on what followed than where nothing repeats, hardly any on what came before.
        ("lm_has_induction_heads", repeated(0.1, 0.0), 0.1 - 0.2),
    ],
)
def test_more_than_another_is_not_enough(name, opposite, least):
    """What a sentence says of one model or layer must be so, beside its lead over another."""
    of_seeds = pd.concat([opposite.assign(seed=seed) for seed in (1, 2, 3)], ignore_index=True)
    frames = blurred({BY_NAME[name].measure: field_tables.exact(of_seeds)}, 1e-4)
    assert value(name, frames) == pytest.approx(least, abs=1e-9)
    assert verdicts(frames, [name]).item() in ("contradicted", "undecided")


def test_a_seed_stands_in_no_better_where_all_states_cost_the_same():
    """Costs of one model in each other; MT and LM are as far apart as half-way to no training."""
    known = field_tables.frames(size=0.0)
    for name in (name for name in NAMES if BY_NAME[name].measure == "stitching"):
        assert value(name, {"stitching": known["stitching"]}) == pytest.approx(0)
    # Of LM: 0.2 from MT, 0.1 from another seed, 0.4 from what MT started from: half-way is 0.25.
    costs = {("lm", "mt"): 0.2, ("lm", "lm"): 0.1, ("lm", "untrained"): 0.4}
    frame = known["stitching"]
    pairs = zip(frame["objective"], frame["from_objective"], strict=True)
    of_lm = [costs.get(pair, of) for pair, of in zip(pairs, frame["value"], strict=True)]
    parts = finding(
        "mt_and_lm_do_not_stand_in", {"stitching": moved(frame, of_lm)}
    ).replicates.whole
    assert parts[:, 0] == pytest.approx([0.2 - 0.25, 0])


def test_steps_are_as_many_as_a_midpoint_needs(true):
    frame = true["probes"]
    late = frame["objective"].str.fullmatch(r"mlm_step(1|2|4|8|16)")
    with pytest.raises(NotMeasuredError, match="4 steps of training at which both"):
        finding("lm_learns_earlier", {"probes": frame[~late].reset_index(drop=True)})


def test_no_condition_hangs_on_the_unit_of_its_claim():
    """Conditions are shares, what they are asked for are logarithms and doublings."""
    conditional = [claim for claim in CLAIMS if claim.where]
    assert len(conditional) == 4
    for claim in conditional:
        other = replace(claim, published=100 * claim.published)
        assert other.margin_of_condition == claim.margin_of_condition
        assert of_condition(claim, Prior(1.0, 2.0)) is NO_PRIOR


def test_what_hardly_rises_is_not_later(true):
    """MLM's accuracy rises surely later, but by 0.01 in all."""
    frame = true["probes"]
    small = 0.3 + (frame["value"] - 0.3) / 40
    hardly = moved(frame, frame["value"].mask(frame["objective"].str.match("mlm_step"), small))
    one = finding("lm_learns_earlier", {"probes": hardly})
    assert one.replicates.whole[0, 0] == pytest.approx(1)
    assert verdicts({"probes": hardly}, ["lm_learns_earlier"]).item() == "undecided"


def test_relations_need_their_task(true):
    tags = {"probes": true["probes"].query("task == 'tag'").reset_index(drop=True)}
    with pytest.raises(NotMeasuredError, match="task relation"):
        finding("parts_of_speech_before_relations", tags)


@pytest.mark.parametrize("seed", range(3))
def test_no_statistic_leaves_its_range_whatever_its_tables_hold(true, seed):
    """Shares and distances are 0 or 1; an expected layer may be anywhere, as gains below 0 put it
    beyond the layers."""
    rng = np.random.default_rng(seed)

    def drawn(frame):
        ends = rng.integers(2, size=len(frame)).astype(float)
        anywhere = rng.normal(0, 20, len(frame))
        beyond = frame.get("metric", pd.Series(index=frame.index)) == "expected_layer"
        return moved(frame, np.where(beyond, anywhere, ends))

    bounded = [claim for claim in CLAIMS if claim.within != ANY]
    assert len(bounded) > 10
    others = {name: drawn(true[name]) for name in {claim.measure for claim in bounded}}
    for claim in bounded:
        assert claim.within.low <= value(claim.name, others) <= claim.within.high, claim.name


@pytest.mark.parametrize(
    ("name", "most"),
    [
        *((name, 1) for name in ("lm_straightens_sentences", "upper_layers_depend_on_context")),
        *((name, 1) for name in ("mlm_rests_on_special_tokens", "mlm_forgets_places")),
        ("diffusion_changes_less_below", 2),  # they have one step
    ],
)
def test_one_layer_is_neither_the_bottom_nor_the_top(true, name, most):
    """Its difference from itself is 0, in any model."""
    frame = true[BY_NAME[name].measure]
    numbers = frame["layer_b" if "layer_b" in frame else "layer"]
    for layers, measured in ((most, False), (most + 1, True)):
        few = {BY_NAME[name].measure: frame[numbers <= layers].reset_index(drop=True)}
        if measured:
            assert np.isfinite(value(name, few))
        else:
            with pytest.raises(NotMeasuredError, match="tells the top from the bottom"):
                value(name, few)
