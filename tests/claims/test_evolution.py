"""The evolution paper's claims, judged by its own curves: as published, reversed, blurred."""

import pandas as pd
import pytest

from bottomup.claims import curves
from bottomup.claims.claim import judge, of_seed
from bottomup.claims.evolution import CLAIMS
from bottomup.errors import UserError

NO_CORRELATIONS = pd.DataFrame(columns=["figure", "panel", "series", "rank_correlation"])
CLAIM_BY_NAME = {claim.name: claim for claim in CLAIMS}


def judged(tables):
    return judge(CLAIMS, tables, NO_CORRELATIONS).set_index("claim")


@pytest.fixture(scope="module")
def as_published(published):
    return published()


def reversed_curves(tables):
    """Every difference with the opposite sign."""
    reverse = {}
    for name, table in tables.items():
        (value,) = {"mi_nats", "distance", "value"} & set(table)
        # Ratios of groups turn round as 1 / value, differences as -value.
        factor = table[value] ** -2 if name in ("change", "influence") else -1
        columns = [value, "ci_low", "ci_high"]
        width = (table["ci_high"] - table["ci_low"]) / 2
        turned = table[value] * factor
        reverse[name] = table.assign(
            **dict(zip(columns, (turned, turned - width, turned + width), strict=True))
        )
    # Not to fall has no opposite but to fall at every step, as MT does.
    steps = tables["pwcca_between_layers"]
    falling = steps[steps["objective"] == "mt"]
    reverse["pwcca_between_layers"] = pd.concat(
        [
            reverse["pwcca_between_layers"].query("objective == 'mt'"),
            *(falling.assign(objective=name) for name in ("lm", "mlm")),
        ]
    )
    return reverse


WHERE_EXTREME = ["rarest_tokens_not_extreme_in_mlm", "token_dropout_ends_extreme_influence"]


def test_the_published_curves_reproduce_every_claim(as_published):
    claims = judged(as_published)
    assert len(claims) == len(CLAIMS) == len(CLAIM_BY_NAME)
    assert (claims["verdict"] == "reproduced").all(), claims["verdict"]
    assert (claims["seeds"] == "1 2").all()


@pytest.mark.parametrize("name", CLAIM_BY_NAME)
def test_the_margin_is_taken_from_the_published_curves(as_published, name):
    claim = CLAIM_BY_NAME[name]
    estimate = claim.measure(of_seed(as_published, 1))
    assert estimate.value == pytest.approx(claim.published, rel=0.01)


def test_reversed_curves_contradict_every_claim(as_published):
    verdicts = judged(reversed_curves(as_published))["verdict"]
    others = verdicts.drop(WHERE_EXTREME)
    assert (others == "contradicted").all(), others
    # Where MT and LM lack the influence, nobody else can lack it in contrast.
    assert (verdicts[WHERE_EXTREME] == "undecided").all()


def test_extreme_influence_everywhere_contradicts_that_it_is_missing_somewhere(as_published):
    table = as_published["influence"]
    parts = [table[table["objective"].isin(["mt", "lm"])]]
    for source, name in (("mt", "mlm"), ("mt", "mt_noise"), ("lm", "lm_noise")):
        parts.append(table[table["objective"] == source].assign(objective=name))
    verdicts = judged(as_published | {"influence": pd.concat(parts)})["verdict"]
    assert (verdicts[WHERE_EXTREME] == "contradicted").all()


def test_wide_intervals_leave_every_claim_undecided(published):
    claims = judged(published(half_width=10.0))
    assert (claims["verdict"] == "undecided").all(), claims["verdict"]
    # The values are as published, so that it is text that lacks.
    assert claims["undecided_until"].str.contains("times the held-out text").all()


def test_values_without_intervals_leave_every_claim_undecided(published):
    claims = judged(published(half_width=float("nan")))
    assert (claims["verdict"] == "undecided").all(), claims["verdict"]
    assert claims["value"].notna().all()


def test_without_tables_every_claim_is_undecided_and_empty(as_published):
    for tables in ({}, {name: table.iloc[:0] for name, table in as_published.items()}):
        claims = judged(tables)
        assert (claims["verdict"] == "undecided").all()
        assert claims["value"].isna().all()


@pytest.mark.parametrize("objective", ["mt", "lm", "mlm", "untrained", "mt_noise"])
def test_a_study_without_an_objective_decides_the_rest(as_published, objective):
    def without(table):
        names = [name for name in table if name.startswith("objective")]
        return table[(table[names] != objective).all(axis="columns")]

    claims = judged({name: without(table) for name, table in as_published.items()})
    decided = claims[claims["verdict"] == "reproduced"].index
    rest = claims.drop(decided)
    assert (rest["verdict"] == "undecided").all() and rest["value"].isna().all()
    assert rest["undecided_until"].str.startswith("the study measures it").all()
    about_others = {
        "mt": "lm_forgets_input",
        "lm": "mlm_reconstructs_input",
        "mlm": "mt_forgets_less",
        "untrained": "lm_forgets_most",
        "mt_noise": "rarest_tokens_extreme",
    }
    assert about_others[objective] in decided
    about_it = {
        "mt": "mt_keeps_position_best",
        "lm": "lm_left_ccg_rises_then_falls",
        "mlm": "mlm_reconstructs_input",
        "untrained": "untrained_forgets_nothing",
        "mt_noise": "token_dropout_ends_extreme_influence",
    }
    assert about_it[objective] in rest.index


def test_a_single_seed_decides_all_but_the_distance_of_seeds(published):
    claims = judged(published(seeds=(3,)))
    undecided = claims.index[claims["verdict"] != "reproduced"]
    assert set(undecided) == {"seeds_closer_than_objectives", "seeds_closer_without_shared_weights"}
    until = claims.loc[undecided, "undecided_until"]
    assert until.str.contains("pair of runs of two seeds").all()


def changed(tables, name, by, **where):
    """`tables` with `by` added to the values of the rows where each column has the value given."""
    table = tables[name]
    chosen = (table[list(where)] == pd.Series(where)).all(axis="columns")
    (value,) = {"mi_nats", "distance", "value"} & set(table)
    columns = [value, "ci_low", "ci_high"]
    return tables | {name: table.assign(**{key: table[key] + by * chosen for key in columns})}


def verdict_of(name, tables):
    return judge([CLAIM_BY_NAME[name]], tables, NO_CORRELATIONS)["verdict"].item()


def test_one_layer_out_of_line_does_not_turn_a_claim(as_published):
    # Above layer 0 and below layer 3: monotonic no more, and yet falling.
    tables = changed(as_published, "mutual_information", 0.05, objective="lm", layer=1)
    assert verdict_of("lm_forgets_input", tables) == "reproduced"
    tables = changed(as_published, "neighbours", 0.03, objective="mlm", property="ccg", layer=1)
    assert verdict_of("mlm_ccg_rises_then_falls", tables) == "reproduced"


def test_one_seed_can_withhold_a_verdict(as_published):
    tables = changed(as_published, "neighbours", 0.2, objective="lm", property="token", seed=2)
    assert verdict_of("mlm_keeps_token_best", as_published) == "reproduced"
    assert verdict_of("mlm_keeps_token_best", tables) == "undecided"


def test_token_dropout_ends_nothing_where_nothing_stands_out(as_published):
    # MT's rarest bin like its neighbors: no extreme influence, so nothing to end.
    tables = changed(as_published, "influence", -0.0043, objective="mt", group="10k-30k", layer=1)
    assert verdict_of("rarest_tokens_extreme", tables) == "undecided"
    assert verdict_of("token_dropout_ends_extreme_influence", tables) == "undecided"


def test_pairs_of_runs_with_and_without_shared_weights_are_told_apart(as_published):
    table = as_published["pwcca_between_runs"]
    shared = table["seed_a"] == table["seed_b"]
    nearer = table.assign(
        ci_high=table["ci_high"] - 0.3 * shared,
        **{name: table[name] - 0.3 * shared for name in ("distance", "ci_low")},
    )
    tables = as_published | {"pwcca_between_runs": nearer}
    assert verdict_of("seeds_closer_than_objectives", tables) == "contradicted"
    assert verdict_of("seeds_closer_without_shared_weights", tables) == "reproduced"


def test_bins_are_ordered_by_rank(as_published):
    tables = of_seed(as_published, 1)
    first = [layers[0].value for layers in curves.by_rank(tables, "influence", "mt")]
    # As published, from rank 1-10 to 10k-30k.
    assert first[0] == pytest.approx(0.000265) and first[-1] == pytest.approx(0.005907)
    shuffled = tables | {"influence": tables["influence"].sample(frac=1, random_state=0)}
    assert [layers[0].value for layers in curves.by_rank(shuffled, "influence", "mt")] == first


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
    layer_0 = as_published["neighbours"].query("layer == 1").assign(layer=0, value=9.0)
    step_0 = as_published["change"].query("layer_a == 1").assign(layer_a=0, layer_b=1, distance=9.0)
    between = as_published["pwcca_between_runs"].query("layer == 1").assign(layer=0, distance=9.0)
    tables = as_published | {
        "neighbours": pd.concat([as_published["neighbours"], layer_0]),
        "change": pd.concat([as_published["change"], step_0]),
        "pwcca_between_runs": pd.concat([as_published["pwcca_between_runs"], between]),
    }
    pd.testing.assert_frame_equal(judged(tables), judged(as_published))


def test_several_values_for_a_layer_are_a_mistake(as_published):
    table = as_published["mutual_information"]
    tables = as_published | {"mutual_information": pd.concat([table, table.assign(n_clusters=5)])}
    with pytest.raises(UserError, match="several values for one layer that differ in n_clusters"):
        judged(tables)
