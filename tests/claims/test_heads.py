"""The heads paper's claims, judged by its own numbers: as published, reversed, blurred."""

import math

import numpy as np
import pandas as pd
import pytest

from bottomup.claims import curves, evolution
from bottomup.claims.claim import NotMeasuredError, judge, of_seed
from bottomup.claims.estimate import Estimate
from bottomup.claims.heads import (
    ANEW,
    CLAIMS,
    agreement,
    best,
    exact,
    few_heads_stand_out,
    over_models,
    sign,
    standing,
)
from bottomup.errors import UserError
from bottomup.figures import claims_table

NO_CORRELATIONS = pd.DataFrame(columns=["figure", "panel", "series", "rank_correlation"])
CLAIM_BY_NAME = {claim.name: claim for claim in CLAIMS}
TABLES = (
    *("head_importance", "head_functions", "pruned_functions"),
    *("pruning", "pruning_samples", "gates"),
)
# Judged by the models of a sweep, which have no intervals.
BY_SWEEPS = {
    *("most_encoder_heads_can_go", "most_heads_of_all_kinds_can_go"),
    *("pruned_better_than_from_scratch", "gates_beat_chance", "gates_beat_importance"),
    *("encoder_heads_go_first", "cross_attention_heads_go_last"),
    *("lower_decoder_keeps_self_attention", "upper_decoder_keeps_cross_attention"),
}
BY_SWEEPS |= {f"{objective}_{name}" for name in BY_SWEEPS for objective in ("lm", "mlm")}
BY_SWEEPS &= set(CLAIM_BY_NAME)


def test_claims_by_sweeps_ask_for_more_penalties():
    assert {name for name, claim in CLAIM_BY_NAME.items() if claim.more == "penalties"} == BY_SWEEPS


def judged(tables, claims=CLAIMS):
    return judge(claims, tables, NO_CORRELATIONS).set_index("claim")


def verdict_of(name, tables):
    return judged(tables, [CLAIM_BY_NAME[name]])["verdict"].item()


def value_of(name, tables):
    return CLAIM_BY_NAME[name].measure(of_seed(tables, 1))


@pytest.fixture(scope="module")
def as_published(published_heads):
    return published_heads()


def where(table, **values):
    return (table[list(values)] == pd.Series(values)).all(axis="columns")


def moved(table, new, value):
    """The table with another value in each row, and its interval around it."""
    new = pd.Series(new, index=table.index)
    shift = new - table[value]
    return table.assign(
        **{name: table[name] + shift for name in (value, "ci_low", "ci_high") if name in table}
    )


def reversed_importance(tables):
    """Relevance mirrored at the mean of its layer; no head is confident but, in the first layer,
    the one that is now the most relevant."""
    table = tables["head_importance"]
    relevance = table["importance"] == "relevance_alpha_beta"
    new = (2 / 8 - table["value"]).where(relevance, table["value"] / 2)
    last = where(table, importance="confidence", layer=1, head=8)
    return tables | {"head_importance": moved(table, new.mask(last, 0.5), "value")}


def reversed_accuracies(tables):
    """What is above its threshold is as far below it; pruned models have no functions."""
    table = tables["head_functions"]
    needed = (1.1 * table["baseline_accuracy"]).fillna(0.5).mask(table["offset"].notna(), 0.9)
    below = (2 * needed - table["accuracy"]).clip(upper=table["accuracy"])
    after = tables["pruned_functions"]
    return tables | {
        "head_functions": moved(table, below, "accuracy"),
        "pruned_functions": moved(after, after["accuracy"] * (after["penalty"] == 0), "accuracy"),
    }


def reversed_token_dropout(tables):
    table = tables["head_functions"]
    return tables | {
        "head_functions": moved(
            table, table["accuracy"].mask(table["objective"] == "mt_noise", 0.9), "accuracy"
        )
    }


def reversed_sweeps(tables):
    """Gates lose a tenth of the quality; kinds and layers go in the opposite order."""
    pruning, gates, samples = tables["pruning"], tables["gates"], tables["pruning_samples"]
    lost = (samples["method"] == "gates") & (samples["penalty"] > 0)
    swapped = pruning["attention"] == "all"
    encoder = pruning["heads_encoder"].mask(swapped, pruning["heads_cross"])
    cross = pruning["heads_cross"].mask(swapped, pruning["heads_encoder"])
    return tables | {
        "pruning": pruning.assign(
            heads_encoder=encoder,
            heads_cross=cross,
        ),
        "pruning_samples": samples.assign(quality=samples["quality"] * (1 - 0.1 * lost)),
        "gates": gates.assign(layer=7 - gates["layer"]),
    }


REVERSED = (*(reversed_importance, reversed_accuracies, reversed_token_dropout, reversed_sweeps),)


def test_the_published_numbers_reproduce_every_claim(as_published):
    claims = judged(as_published)
    assert len(claims) == len(CLAIMS) == len(CLAIM_BY_NAME)
    assert (claims["verdict"] == "reproduced").all(), claims["verdict"]
    assert (claims["seeds"] == "1 2").all()


@pytest.mark.parametrize("name", CLAIM_BY_NAME)
def test_the_margin_is_taken_from_the_published_numbers(as_published, name):
    assert value_of(name, as_published).value == pytest.approx(
        CLAIM_BY_NAME[name].published, rel=0.01
    )


def test_reversed_numbers_contradict_every_claim(as_published):
    verdicts = pd.DataFrame(
        {reverse.__name__: judged(reverse(as_published))["verdict"] for reverse in REVERSED}
    )
    contradicted = (verdicts == "contradicted").any(axis="columns")
    assert contradicted.all(), verdicts[~contradicted]
    # What a table does not bear upon stays as it was.
    assert set(verdicts.index[verdicts["reversed_sweeps"] == "contradicted"]) == BY_SWEEPS
    assert set(verdicts.index[verdicts["reversed_token_dropout"] == "contradicted"]) == {
        "token_dropout_removes_rare_token_head"
    }


def test_wide_intervals_leave_every_claim_about_text_undecided(published_heads):
    claims = judged(published_heads(half_width=10.0))
    assert set(claims.index[claims["verdict"] == "reproduced"]) == BY_SWEEPS
    rest = claims.drop(BY_SWEEPS)
    assert (rest["verdict"] == "undecided").all()
    # The values are as published, so that it is text that lacks.
    assert rest["undecided_until"].str.contains("times the held-out text").all()


def test_values_without_intervals_leave_every_claim_about_text_undecided(published_heads):
    claims = judged(published_heads(half_width=math.nan)).drop(BY_SWEEPS)
    assert (claims["verdict"] == "undecided").all(), claims["verdict"]
    assert claims["value"].notna().all()


def test_without_tables_every_claim_is_undecided_and_empty(as_published):
    for tables in ({}, {name: table.iloc[:0] for name, table in as_published.items()}):
        claims = judged(tables)
        assert (claims["verdict"] == "undecided").all()
        assert claims["value"].isna().all()


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_is_missing_leaves_its_claims_undecided(as_published, name):
    claims = judged({key: table for key, table in as_published.items() if key != name})
    missing = claims[claims["verdict"] == "undecided"]
    assert len(missing) and missing["value"].isna().all()
    assert missing["undecided_until"].str.contains(name).all()
    assert (claims.drop(missing.index)["verdict"] == "reproduced").all()


@pytest.mark.parametrize("objective", ["mt", "lm", "mlm", "mt_noise"])
def test_a_study_without_an_objective_decides_the_rest(as_published, objective):
    claims = judged(
        {name: table[table["objective"] != objective] for name, table in as_published.items()}
    )
    undecided = set(claims.index[claims["verdict"] == "undecided"])
    expected = {
        "mt": {name for name in CLAIM_BY_NAME if not name.startswith(("lm_", "mlm_"))},
        "lm": {name for name in CLAIM_BY_NAME if name.startswith("lm_")},
        "mlm": {name for name in CLAIM_BY_NAME if name.startswith("mlm_")},
        "mt_noise": {"token_dropout_removes_rare_token_head"},
    }
    assert undecided == expected[objective]
    assert (claims.drop(list(undecided))["verdict"] == "reproduced").all()


def test_lm_and_mlm_are_told_apart_from_the_paper_and_have_its_margins(as_published):
    asked = {name: claim for name, claim in CLAIM_BY_NAME.items() if claim.paper == ANEW}
    assert {claim.paper for claim in CLAIMS} == {"heads", ANEW}
    assert not set(CLAIM_BY_NAME) & {claim.name for claim in evolution.CLAIMS}
    assert all(name in asked for name in CLAIM_BY_NAME if name.startswith(("lm_", "mlm_")))
    lm, mt = CLAIM_BY_NAME["lm_positional_heads"], CLAIM_BY_NAME["positional_heads"]
    assert lm.margin == mt.margin and lm.statement.startswith("LM: ")
    # Each is of its own objective.
    table = as_published["head_importance"]
    even = table["value"].mask(table["objective"] == "lm", 1 / 8)
    tables = as_published | {"head_importance": moved(table, even, "value")}
    assert value_of("lm_few_heads_stand_out", tables).value == pytest.approx(0)
    assert verdict_of("mlm_few_heads_stand_out", tables) == "reproduced"


# From tables to statistics, by hand


def test_order_is_known_where_intervals_say_so():
    assert sign(Estimate(2, 1, 3)) == exact(1)
    assert sign(Estimate(-2, -3, -1)) == exact(-1)
    assert sign(Estimate(2, -1, 5)) == Estimate(1, -1, 1)
    assert sign(Estimate(2, math.nan, math.nan)) == Estimate(1, -1, 1)


def test_agreement_is_kendall_s_tau_and_open_where_orders_are():
    a = [exact(value) for value in (4, 3, 2, 1)]
    b = [exact(value) for value in (4, 2, 3, 1)]
    # One of six pairs in opposite orders.
    assert agreement(a, b) == exact(pytest.approx(4 / 6))
    assert agreement(a, a[::-1]) == exact(-1)
    blurred = [exact(4), Estimate(2, 1.5, 3.5), exact(3), exact(1)]
    found = agreement(a, blurred)
    assert (found.value, found.low, found.high) == pytest.approx((4 / 6, 4 / 6, 1))
    with pytest.raises(NotMeasuredError, match="second head"):
        agreement(a[:1], b[:1])


def test_standing_counts_heads_below_and_above():
    layer = {1: exact(0.4), 2: exact(0.3), 3: exact(0.2), 4: Estimate(0.1, 0.0, 0.35)}
    assert standing(layer, 1) == exact(1)
    # One above, one below, and one below that may be above.
    found = standing(layer, 2)
    assert (found.value, found.low, found.high) == pytest.approx((1 / 3, -1 / 3, 1 / 3))


def test_best_is_the_dual_of_weakest():
    assert best([Estimate(1, 0, 5), Estimate(2, -1, 3)]) == Estimate(2, 0, 5)


def test_models_of_a_sweep_are_its_repeats():
    # Standard deviation 1, standard error 1 / sqrt(3), t of two degrees of freedom 4.303.
    found = over_models([1.0, 2.0, 3.0])
    assert (found.value, found.low, found.high) == pytest.approx((2, -0.484, 4.484), abs=1e-3)
    assert math.isnan(over_models([1.0]).low)


def importance(*shares):
    heads = pd.DataFrame({"head": range(1, 1 + len(shares)), "value": shares, "layer": 1})
    heads = heads.assign(ci_low=heads["value"], ci_high=heads["value"], attention="encoder")
    return {"head_importance": heads.assign(objective="mt", importance="relevance_alpha_beta")}


def test_few_heads_stand_out_if_the_excess_is_above_the_mean():
    # 0.4 and 0.2 are 0.175 above the mean of 0.125 on average; 0.05 and 0.05 are 0.075 below it.
    found = few_heads_stand_out(importance(0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05))
    assert found.value == pytest.approx((0.175 - 0.075) / 0.125)
    assert few_heads_stand_out(importance(0.4, 0.3, 0.2, 0.1)).value == pytest.approx(0)
    assert few_heads_stand_out(importance(0.3, 0.3, 0.3, 0.1)).value < 0
    for few in (importance(0.9, 0.1), importance(1.0)):
        assert few_heads_stand_out(few).value == pytest.approx(0)


def test_positional_heads_of_mt_are_needed_on_both_sides(as_published):
    table = as_published["head_functions"]
    tables = as_published | {"head_functions": table[table["offset"] != 1]}
    # No head has most of its maxima on the next token: none has more than half there.
    assert value_of("positional_heads", tables).value == pytest.approx(-0.4)
    assert verdict_of("positional_heads", tables) == "contradicted"
    assert verdict_of("lm_positional_heads", tables) == "reproduced"


def test_functions_that_were_not_met_are_not_measured(as_published):
    table = as_published["head_functions"]
    columns = ["accuracy", "ci_low", "ci_high", "baseline_accuracy"]
    adverbs = table["function"].str.startswith("advmod")
    table = table.assign(**{name: table[name].mask(adverbs) for name in columns})
    claims = judged(as_published | {"head_functions": table})
    undecided = claims[claims["verdict"] == "undecided"]
    assert list(undecided.index) == ["adverb_heads", "lm_adverb_heads", "mlm_adverb_heads"]
    assert undecided["undecided_until"].iloc[0] == (
        "the study measures it (accuracy of advmod_to_head is missing)"
    )


def test_where_no_head_points_to_rare_tokens_none_can_be_the_most_relevant(as_published):
    table = as_published["head_functions"]
    rare = (table["function"] == "two_rarest") & (table["objective"] == "mt")
    table = moved(table, table["accuracy"].mask(rare, 0.3), "accuracy")
    claims = judged(as_published | {"head_functions": table})
    assert claims.loc["rare_token_head", "verdict"] == "contradicted"
    assert claims.loc["rare_token_head_is_most_relevant", "verdict"] == "undecided"
    # Nothing to remove.
    assert claims.loc["token_dropout_removes_rare_token_head", "verdict"] == "undecided"


def sweep(left, bleu, **columns):
    """A sweep over the encoder, from all 48 heads."""
    table = pd.DataFrame({"heads_encoder": left, "bleu": bleu}).assign(method="gates")
    table["penalty"] = np.arange(len(left)) / 10
    whole = {"heads_encoder": 48, "bleu": 10.0, "method": "none"}
    table = pd.concat([table, pd.DataFrame([whole])]).assign(**columns)
    pruning = table.assign(objective="mt", attention="encoder", seed=1)
    samples = [pruning.assign(sample=sample, quality=pruning["bleu"]) for sample in range(4)]
    return {
        "pruning": pruning.assign(heads_decoder=48, heads_cross=48),
        "pruning_samples": pd.concat(samples),
    }


def test_a_loss_of_quality_is_interpolated_between_models_and_as_sure_as_these():
    # Half-way between 16 and 8 heads, as a share of penalty 0 (and not of the converged model).
    found = value_of("most_encoder_heads_can_go", sweep([48, 30, 16, 8], [20, 20.2, 19.8, 19.0]))
    assert (found.value, found.low, found.high) == pytest.approx((0.0, -0.02, 0.02))
    # Each of three samples has 0.1, 0 and -0.1 more, of 20, where 16 heads are left.
    tables = sweep([48, 30, 16, 8], [20, 20.2, 19.8, 19.0])
    samples = tables["pruning_samples"]
    moved_by = samples["sample"].map({0: 0, 1: 0.1, 2: 0, 3: -0.1})
    moved_by = moved_by * where(samples, heads_encoder=16, method="gates")
    samples = samples.assign(quality=samples["quality"] + moved_by)
    found = value_of("most_encoder_heads_can_go", tables | {"pruning_samples": samples})
    assert (found.value, found.low) == pytest.approx((0.0, -0.02))
    assert found.high == pytest.approx(0.02 + 1.96 * 0.1 / 20)
    # No model with so few heads.
    tables = sweep([48, 30, 16], [20, 20.2, 19.8])
    with pytest.raises(NotMeasuredError, match="mt with 25% of its heads or fewer"):
        value_of("most_encoder_heads_can_go", tables)


def test_models_that_do_not_translate_decide_nothing():
    claims = judged(sweep([48, 12], [0.0, 0.0]))
    assert (claims["verdict"] == "undecided").all()
    until = claims.loc["most_encoder_heads_can_go", "undecided_until"]
    assert until == "the study measures it (mt of penalty 0 with a quality above 0 is missing)"


def test_what_lm_loses_is_a_share_of_its_quality(as_published):
    table, pruning = as_published["pruning_samples"], as_published["pruning"]
    few = pruning[where(pruning, objective="lm", heads_encoder=12, method="gates")]
    [penalty] = set(few["penalty"])
    lost = where(table, objective="lm", penalty=penalty, method="gates")
    table = table.assign(quality=table["quality"] * np.exp(-0.1 * lost))
    before = value_of("lm_most_encoder_heads_can_go", as_published)
    after = value_of("lm_most_encoder_heads_can_go", as_published | {"pruning_samples": table})
    # 29.45 of 29.6 are left, now times exp(-0.1).
    assert before.value - after.value == pytest.approx(29.45 / 29.6 * (1 - math.exp(-0.1)))


def test_importances_that_are_measured_decide_and_the_best_of_them_counts(as_published):
    table = as_published["pruning_samples"]
    without = table[~table["method"].isin(["gradient", "confidence"])]
    tables = as_published | {"pruning_samples": without}
    assert verdict_of("mlm_gates_beat_importance", tables) == "reproduced"
    none = without[without["method"] != "relevance"]
    until = judged({"pruning_samples": none})["undecided_until"]
    assert until["mlm_gates_beat_importance"] == (
        "the study measures it (mlm pruned by importance is missing)"
    )
    gradient = table["method"] == "gradient"
    better = table.assign(quality=table["quality"] * np.exp(0.1 * gradient))
    tables = as_published | {"pruning_samples": better}
    assert verdict_of("mlm_gates_beat_importance", tables) == "contradicted"


def test_heads_left_are_those_of_the_last_step(as_published):
    layers = curves.layers_left(of_seed(as_published, 1), "mt", "decoder")
    # Published of the last model: 6 of 16 in layers 1 and 2, 3 of 16, none.
    assert layers[-1] == pytest.approx([6 / 8, 0, 3 / 8, 0, 0, 0])


def test_several_values_for_a_head_are_a_mistake(as_published):
    table = as_published["head_importance"]
    twice = pd.concat([table.assign(rule=rule) for rule in ("alpha_beta", "ratio")])
    with pytest.raises(UserError, match="several values for one head that differ in rule"):
        judged(as_published | {"head_importance": twice})


def test_a_function_may_or_may_not_be_there(as_published):
    table = as_published["pruned_functions"]
    # Of the model with 17 heads, subject to verb may have gone.
    doubtful = (table["penalty"] > 0) & (table["function"] == "nsubj_to_head")
    low = table["ci_low"].mask(doubtful, 0.1)
    tables = as_published | {"pruned_functions": table.assign(ci_low=low)}
    before, after = (value_of("functions_stay", found) for found in (as_published, tables))
    n_functions = table.loc[table["penalty"] == 0, ["function", "offset"]].drop_duplicates()
    held = 9  # -1, +1, subjects and objects both ways, amod, advmod, rare tokens
    assert len(n_functions) > held
    assert before.low - after.low == pytest.approx(1 / held, abs=1e-3)
    assert after.value == before.value


def test_each_paper_has_a_table_with_its_title_and_counts(as_published):
    page = claims_table.page(judged(as_published).reset_index())
    assert page.count("<table") == 2
    asked = sum(claim.paper == ANEW for claim in CLAIMS)
    for paper, count in (("heads", len(CLAIMS) - asked), (ANEW, asked)):
        assert f"{claims_table.PAPERS[paper]}. Of {count} claims: {count} reproduced" in page
