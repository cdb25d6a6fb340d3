from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.figures import distance_between_layers, distance_between_tasks, style
from bottomup.published import load_published

TASKS, LAYERS = "change_between_tasks", "change_by_task"


def y(points, panel, series, source="ours"):
    """The values of one curve, by x."""
    of = (points["panel"] == panel) & (points["series"] == series) & (points["source"] == source)
    of &= points["quantity"] == "PWCCA distance"
    return dict(points.loc[of, ["x", "y"]].itertuples(index=False))


@pytest.mark.parametrize("variant", ["definition", "svcca-2019"])
def test_objectives_are_compared_within_a_seed(study, variant):
    tables = study()
    _, points = distance_between_tasks.draw(tables)
    table = tables["pwcca_between_runs"]
    rows = table[
        (table["variant"] == variant)
        & (table["weights"] == "x")
        & (table["objective_a"] == "mlm")
        & (table["objective_b"] == "mt")
        & (table["seed_a"] == table["seed_b"])
    ]
    assert rows["seed_a"].unique().tolist() == [1, 2]
    assert y(points, variant, "mt-mlm") == rows.groupby("layer")["distance"].mean().to_dict()


def test_seeds_are_compared_within_an_objective(study):
    tables = study(seeds=(1, 2, 3))
    _, points = distance_between_tasks.draw(tables)
    table = tables["pwcca_between_runs"].query(
        "variant == 'definition' and weights == 'x' and objective_a == objective_b == 'lm'"
    )
    assert len(table) == 3 * 7, "three pairs of three seeds, seven layers"
    expected = table.groupby("layer")["distance"].mean().to_dict()
    assert y(points, "definition", "lm-lm") == expected


def band(points, panel, series):
    """The band of one curve, by x."""
    rows = points[(points["panel"] == panel) & (points["series"] == series)]
    rows = rows[(rows["source"] == "ours") & (rows["quantity"] == "PWCCA distance")]
    return {row.x: (row.low, row.high) for row in rows.itertuples()}


def test_bands_are_of_the_mean_over_runs_and_documents(study, of_two_runs):
    tables = study(layers=2)
    table = tables["pwcca_between_runs"]
    _, points = distance_between_tasks.draw(tables)
    rows = table.query(
        "objective_a == 'lm' and objective_b == 'mt' and seed_a == seed_b and weights == 'x' "
        "and variant == 'definition'"
    )
    drawn = band(points, "definition", "lm-mt")
    for layer, runs in rows.groupby("layer")["distance"]:
        assert drawn[layer] == of_two_runs(runs)
    # Of one objective two runs are one pair, which tells of documents alone.
    [pair] = table.query(
        "objective_a == objective_b == 'lm' and weights == 'x' and variant == 'definition' "
        "and layer == 1"
    ).itertuples()
    assert band(points, "definition", "lm-lm")[1] == (pair.ci_low, pair.ci_high)
    of = points["series"].isin(["lm-mt", "lm-lm"]) & (points["panel"] == "definition")
    assert dict(points.loc[of, ["series", "runs"]].itertuples(index=False)) == {
        **{"lm-mt": 2, "lm-lm": 1}
    }


def test_how_much_further_others_are_apart_is_told_in_pairs(study):
    tables = study(seeds=(1, 2, 3)) | {TASKS: load_published(TASKS)}
    _, points = distance_between_tasks.draw(tables)
    further = points[points["quantity"] == distance_between_tasks.FURTHER]
    assert {*further["series"]} == {"lm-mt", "lm-mlm"}
    for panel in ("definition", distance_between_tasks.APART):
        ours = further[(further["panel"] == panel) & (further["source"] == "ours")]
        found = dict(ours.loc[ours["series"] == "lm-mt", ["x", "y"]].itertuples(index=False))
        lm, nearest = (y(points, panel, pair) for pair in ("lm-mt", "mt-mlm"))
        assert found == pytest.approx({layer: lm[layer] - nearest[layer] for layer in lm})
        known = ours.dropna(subset="low")
        assert len(known) and known["y"].between(known["low"], known["high"]).all()
    published = further[further["source"] == "published"]
    # All but LM and MLM at the first layer.
    assert (published[published["panel"] == "definition"]["y"] < 0).sum() == 1
    alone = study(objectives=("lm", "untrained"))
    _, points = distance_between_tasks.draw(alone)
    assert {*points["quantity"]} == {"PWCCA distance"}


def test_objectives_across_seeds_have_a_panel_of_their_own(study):
    tables = study(seeds=(1, 2, 3))
    _, points = distance_between_tasks.draw(tables)
    table = tables["pwcca_between_runs"].query("variant == 'definition' and weights == 'x'")
    across = table.query("objective_a == 'lm' and objective_b == 'mt' and seed_a != seed_b")
    assert len(across) == 6 * 7, "six pairs of different seeds, seven layers"
    panel = distance_between_tasks.APART
    found = y(points, panel, "lm-mt")
    assert found == pytest.approx(across.groupby("layer")["distance"].mean().to_dict())
    assert y(points, panel, "lm-lm") == y(points, "definition", "lm-lm")
    _, alone = distance_between_tasks.draw(study(seeds=(1,)))
    assert panel not in set(alone["panel"])


def test_halves_of_the_text_are_compared_within_a_seed_and_an_objective(study):
    halves = ("lm_half1", "lm_half2", "mt_half1", "mt_half2")
    tables = study(objectives=("lm", "untrained", *halves))
    measured = tables["pwcca_between_runs"]
    half = measured[["objective_a", "objective_b"]].apply(lambda names: names.str.contains("half"))
    pairs = zip(measured["objective_a"], measured["objective_b"], strict=True)
    of_one = np.array([style.halves_of_one(*pair) for pair in pairs])
    within = of_one & (measured["seed_a"] == measured["seed_b"])
    tables["pwcca_between_runs"] = measured[within | ~half.any(axis="columns")]
    _, points = distance_between_tasks.draw(tables)
    pairs = {"lm_half1-lm_half2", "mt_half1-mt_half2"}
    shown = points[points["panel"] == "definition"]
    assert set(shown["series"]) == {"lm-lm", "untrained-untrained"} | pairs
    rows = tables["pwcca_between_runs"].query(
        "objective_a == 'lm_half1' and objective_b == 'lm_half2' and seed_a == seed_b "
        "and variant == 'definition' and weights == 'x'"
    )
    expected = rows.groupby("layer")["distance"].mean().to_dict()
    assert y(points, "definition", "lm_half1-lm_half2") == expected
    if distance_between_tasks.APART in set(points["panel"]):
        apart = points[points["panel"] == distance_between_tasks.APART]
        assert not set(apart["series"]) & pairs, "they share their initial weights"


@pytest.mark.parametrize("panel", ["definition", "svcca-2019"])
def test_published_distances_between_tasks_are_the_data(study, panel):
    curves = load_published(TASKS)
    _, points = distance_between_tasks.draw(study() | {TASKS: curves})
    names = {"mt-mlm": "MT vs MLM", "lm-mt": "LM vs MT", "lm-mlm": "LM vs MLM"}
    names |= {f"{name.lower()}-{name.lower()}": f"{name} init." for name in ("MT", "LM", "MLM")}
    assert set(names.values()) == set(curves["series"])
    for series, name in names.items():
        expected = curves[curves["series"] == name].set_index("x")["y"].to_dict()
        assert y(points, panel, series, "published") == expected


def test_distances_between_consecutive_layers(study):
    tables = study()
    _, points = distance_between_layers.draw(tables)
    table = tables["pwcca_between_layers"].query(
        "objective == 'mlm' and variant == 'definition' and weights == 'x'"
    )
    drawn = y(points, "definition", "mlm")
    assert list(drawn) == ["0-1", "1-2", "2-3", "3-4", "4-5", "5-6"]
    for step, distance in drawn.items():
        a, b = map(int, step.split("-"))
        rows = table[(table["layer_a"] == a) & (table["layer_b"] == b)]
        assert distance == rows["distance"].mean()


def test_steps_of_models_of_other_depths_are_not_compared(study):
    deep = study(objectives=("aa", "bb"))["pwcca_between_layers"]
    other = study(2, objectives=("cc",))["pwcca_between_layers"]
    tables = {"pwcca_between_layers": pd.concat([deep, other])}
    _, points = distance_between_layers.draw(tables)
    differ = points["quantity"] == distance_between_layers.DIFFERENCE
    assert set(points["series"]) >= {"aa", "bb", "cc"}
    assert set(points.loc[differ, "series"]) == {"aa-bb"}


def test_published_distances_between_layers_are_the_data(study):
    curves = load_published(LAYERS)
    _, points = distance_between_layers.draw(study() | {LAYERS: curves})
    for name in ("MT", "LM", "MLM"):
        expected = curves[curves["series"] == name].set_index("x")["y"].to_dict()
        assert y(points, "definition", name.lower(), "published") == expected


def test_the_first_step_has_an_axis_of_its_own(study):
    figure, _ = distance_between_layers.draw(study())
    labels = [[text.get_text() for text in axes.get_xticklabels()] for axes in figure.axes]
    assert labels == [["0-1"], ["1-2", "2-3", "3-4", "4-5", "5-6"]] * 4


def test_nothing_to_compare(study):
    tables = study(objectives=("lm", "mt"))
    measured = tables["pwcca_between_runs"]
    tables["pwcca_between_runs"] = measured.query("objective_a != objective_b and seed_a != seed_b")
    with pytest.raises(UserError, match="two objectives or two seeds"):
        distance_between_tasks.draw(tables)


@pytest.mark.parametrize("layers", [1, 2, 3, 12])
@pytest.mark.parametrize("module", [distance_between_tasks, distance_between_layers])
def test_other_depths_one_seed_and_no_mt(study, module, layers):
    tables = study(layers=layers, seeds=(3,), objectives=("lm", "mlm", "untrained"))
    published = {name: load_published(name) for name in (TASKS, LAYERS)}
    figure, points = module.draw(tables | published)
    assert points.loc[points["source"] == "ours", "low"].notna().all(), "the run's own interval"
    assert not points["series"].str.contains("mt").any()
    figure.draw_without_rendering()


def test_a_checkpoint_is_beside_runs_of_any_seed():
    columns = ["objective_a", "seed_a", "objective_b", "seed_b"]
    rows = [("lm", 1, "mt", 1), ("lm", 1, "bert", 0), ("bert_untrained", 0, "bert", 0)]
    rows += [("lm", 1, "lm", 2), ("lm", 1, "mt", 2)]
    some = pd.DataFrame(rows, columns=columns)
    assert distance_between_tasks.of_other_seeds(some).tolist() == [False] * 3 + [True] * 2
    assert len(distance_between_tasks.comparable(some)) == 4


def test_many_pairs_stand_in_rows_of_one_scale():
    names = [f"model{n}" for n in range(5)]
    rows = [
        {
            **{"objective_a": a, "seed_a": 0, "objective_b": b, "seed_b": 0, "layer": layer},
            **{"variant": "definition", "weights": "x", "distance": 0.1 * place + layer / 20},
            **{"ci_low": 0.0, "ci_high": 1.0, "without": [0.1 * place] * 20},
        }
        for place, (a, b) in enumerate(combinations(names, 2))
        for layer in (0, 1)
    ]
    figure, points = distance_between_tasks.draw({"pwcca_between_runs": pd.DataFrame(rows)})
    assert points["series"].nunique() == 10 and len(figure.axes) == 2
    assert [len(axes.lines) for axes in figure.axes] == [5, 5]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
