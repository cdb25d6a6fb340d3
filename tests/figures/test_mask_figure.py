from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.figures import mask, style
from bottomup.measures.jackknife import Range

CAUSAL = ["lm", "mlm_causal", "untrained_causal"]
BOTH = ["lm_bidirectional", "mlm", "mt", "untrained"]
TARGETS = {"lm": "lm", "mlm_causal": "mlm", "lm_bidirectional": "lm", "mlm": "mlm", "mt": "mt"}
MODELS = {
    name: {
        "causal": name in CAUSAL,
        "initial": "untrained_causal" if name in CAUSAL else "untrained",
        "target": TARGETS.get(name),
        "variant": name in ("mlm_causal", "lm_bidirectional"),
    }
    for name in [*CAUSAL, *BOTH]
}
ESTIMATE = {"n_clusters": 1000, "n_tokens": 400}
SHOWN = {"models": MODELS, "estimate": ESTIMATE, "variant": "definition"}
# Student's 97.5 % point with two degrees of freedom, from a table: three blocks have two.
T = 4.302653


def study(seeds=(1, 2), others=()):
    """Two layers and three blocks; every objective falls by a tenth of its place, each seed more.

    mlm_causal and lm_bidirectional have the first seed alone. Trained models are not compared with
    untrained ones, nor MT with those two.
    """
    names = [*CAUSAL, *BOTH, *others]
    runs = [
        (name, seed)
        for name, seed in product(names, seeds)
        if seed == seeds[0] or name not in ("mlm_causal", "lm_bidirectional")
    ]
    information, neighbors = [], []
    for (objective, seed), layer in product(runs, (0, 1)):
        value = 5 - layer * (0.1 * names.index(objective) + 0.01 * seed)
        row = {"objective": objective, "seed": seed, "layer": layer, "value": value}
        row |= {"ci_low": value - 0.1, "ci_high": value + 0.1, "without": [value] * 3}
        neighbors += [
            row | {"property": "token", "metric": "cosine"},
            row | {"property": "token", "metric": "euclidean", "value": 9.0},
            row | {"property": "position", "metric": "cosine", "value": 9.0},
        ]
        row["mi_nats"] = row.pop("value")
        row |= {"reading": "plain", "positions": "all", "label": "input", "estimator": "clusters"}
        row |= {**ESTIMATE, "clustering_error_nats": 0.0}
        others = (
            {"n_clusters": 500},
            {"n_tokens": 500},
            {"label": "output"},
            {"estimator": "classifier"},
        )
        information += [row, *(row | {"mi_nats": 9.0} | other for other in others)]
    distances = [
        {
            **{"objective_a": a, "seed_a": seed_a, "objective_b": b, "seed_b": seed_b},
            **{"layer": layer, "variant": variant, "weights": weights, "distance": distance},
            **{"ci_low": distance - 0.1, "ci_high": distance + 0.1, "without": [distance] * 3},
        }
        for ((a, seed_a), (b, seed_b)), layer in product(combinations(runs, 2), (0, 1))
        if len({name.startswith("untrained") for name in (a, b)}) == 1
        if not ("mt" in (a, b) and {"mlm_causal", "lm_bidirectional"} & {a, b})
        for variant, weights in product(("definition", "svcca-2019"), "xy")
        for distance in [0.1 * seed_a + layer * (0.1 if seed_a == seed_b else 0.7)]
    ]
    return {
        "mutual_information": pd.DataFrame(information),
        "neighbors": pd.DataFrame(neighbors),
        "pwcca_between_runs": pd.DataFrame(distances),
    }


def at_top(points, quantity, panel):
    """The points of layer 1 by series."""
    of = (points["quantity"] == quantity) & (points["panel"] == panel) & (points["x"] == 1)
    return points[of].set_index("series")


def change(table, value, objective, without=None, **columns):
    """Set the values of the objective's rows at layer 1 that the figure shows."""
    of = (table["objective"] == objective) & (table["layer"] == 1) & (table[value] != 9)
    for column, new in {value: columns.pop(value, None), **columns}.items():
        if new is not None:
            table.loc[of, column] = new
    if without is not None:
        table.loc[of, "without"] = pd.Series([without] * of.sum(), index=table.index[of])


@pytest.mark.parametrize("quantity", [style.INFORMATION, mask.TOKEN])
def test_untrained_and_trained_models_are_the_tables_mean_over_seeds(quantity):
    _, points = mask.draw(study(), **SHOWN)
    bottom = 5 if quantity == mask.TOKEN else 0  # information is shown since layer 0
    untrained = at_top(points, quantity, mask.UNTRAINED)["y"]
    assert untrained.to_dict() == pytest.approx(
        {"untrained_causal": bottom - 0.2 - 0.015, "untrained": bottom - 0.6 - 0.015}
    )
    trained = at_top(points, quantity, mask.TRAINED)
    assert trained["y"].to_dict() == pytest.approx(
        {
            **{"lm": bottom - 0.015, "mlm_causal": bottom - 0.1 - 0.01},
            **{"lm_bidirectional": bottom - 0.3 - 0.01, "mlm": bottom - 0.4 - 0.015},
            "mt": bottom - 0.5 - 0.015,
        }
    )
    assert trained["runs"].to_dict() == {
        **dict.fromkeys(["lm", "mlm", "mt"], 2),
        **dict.fromkeys(["lm_bidirectional", "mlm_causal"], 1),
    }


def test_the_interval_of_several_runs_is_that_of_their_mean():
    _, points = mask.draw(study(), **SHOWN)
    found = at_top(points, style.INFORMATION, mask.TRAINED).loc["lm"]
    # No block differs; runs fall by 0.01 and 0.02. Student's t has one degree of freedom.
    assert found["high"] - found["y"] == pytest.approx(12.706205 * np.sqrt(0.005**2), rel=1e-6)


@pytest.mark.parametrize("quantity", [style.INFORMATION, mask.TOKEN])
def test_what_training_adds_is_told_from_the_model_of_its_mask_and_seed(quantity):
    _, points = mask.draw(study(), **SHOWN)
    assert at_top(points, quantity, mask.GAIN)["y"].to_dict() == pytest.approx(
        {"lm": 0.2, "mlm_causal": 0.1, "lm_bidirectional": 0.3, "mlm": 0.2, "mt": 0.1}
    )


def test_axes_of_information_say_their_unit():
    figure, _ = mask.draw(study(), **SHOWN)
    labels = [label for axes in figure.axes if "information" in (label := axes.get_ylabel())]
    assert len(labels) == 2 and all(label.endswith("nats") for label in labels)


def test_what_two_models_share_block_by_block_widens_no_interval():
    tables = study(seeds=(1,))
    shared, of_training = [4.0, 5.0, 6.0], [4.0, 5.0, 6.3]
    change(tables["neighbors"], "value", "untrained", without=shared)
    change(tables["neighbors"], "value", "mt", without=of_training)
    change(tables["neighbors"], "value", "mlm", without=shared)
    _, points = mask.draw(tables, **SHOWN)
    gain = at_top(points, mask.TOKEN, mask.GAIN)
    assert gain.loc["mlm", ["low", "high"]].isna().all(), "the same in every block"
    # Differences 0, 0, 0.3; squared deviations 0.01, 0.01, 0.04; two thirds of the sum: 0.04.
    low, high = Range(-1, 1).around(gain.loc["mt", "y"], T * 0.2)
    assert gain.loc["mt", ["low", "high"]].tolist() == pytest.approx([low, high], rel=1e-6)


def test_both_models_clusterings_widen_the_interval():
    tables = study(seeds=(1,))
    of_text = {"untrained": [4.0, 5.0, 6.0], "mt": [4.0, 5.0, 6.3]}  # an error of 0.2, as above
    for name, error in (("untrained", 0.03), ("mt", 0.04)):
        more = {"without": of_text[name], "clustering_error_nats": error}
        change(tables["mutual_information"], "mi_nats", name, **more)
    _, points = mask.draw(tables, **SHOWN)
    gain = at_top(points, style.INFORMATION, mask.GAIN).loc["mt"]
    assert gain["high"] - gain["y"] == pytest.approx(T * np.hypot(0.2, 0.05), rel=1e-6)


def test_pairs_are_of_one_seed_and_as_the_study_names_them():
    tables = study()
    measured = tables["pwcca_between_runs"]
    turned = (measured["objective_a"] == "lm") & (measured["objective_b"] == "mt")
    names = ["objective_a", "seed_a", "objective_b", "seed_b"]
    measured.loc[turned, names] = measured.loc[turned, names[2:] + names[:2]].to_numpy()
    _, points = mask.draw(tables, **SHOWN)
    shown = points[points["quantity"] == style.DISTANCE]
    assert {panel: set(part["series"]) for panel, part in shown.groupby("panel")} == {
        "untrained, mask differs": {"untrained-untrained_causal"},
        "trained, target or mask differs": {
            *("lm-lm_bidirectional", "mlm-mlm_causal", "lm-mlm_causal", "mlm-lm_bidirectional"),
        },
        "trained, as in the paper": {"lm-mlm", "lm-mt", "mt-mlm"},
    }
    top = shown[shown["x"] == 1].set_index("series")["y"]
    assert top[["lm-mt", "lm-mlm"]].tolist() == pytest.approx([0.25] * 2), "mean of two seeds"
    assert top["lm-lm_bidirectional"] == pytest.approx(0.2), "the first seed alone"


def test_color_is_the_target_and_line_and_marker_are_the_mask():
    known = {name: mask.Model(**model) for name, model in MODELS.items()}
    looks = {name: mask._model(name, known) for name in known}
    lines = [{(looks[name].marker, looks[name].linestyle) for name in of} for of in (CAUSAL, BOTH)]
    assert [len(line) for line in lines] == [1, 1] and lines[0] != lines[1]
    assert looks["lm"].color == looks["lm_bidirectional"].color
    assert looks["mlm"].color == looks["mlm_causal"].color
    markers = {pair: mask._pair(pair, known).marker for pair in mask.LABELS}
    assert markers["lm-mlm_causal"] == looks["lm"].marker
    assert markers["mlm-lm_bidirectional"] == markers["mt-mlm"] == looks["mlm"].marker
    across = {markers[pair] for pair in ("lm-lm_bidirectional", "mlm-mlm_causal", "lm-mlm")}
    assert len(across) == 1 and not across & {looks["lm"].marker, looks["mlm"].marker}


def test_other_objectives_take_their_place_by_mask_and_target():
    others = {
        "mlm_40": MODELS["mlm"],
        "mlm_causal_40": MODELS["mlm_causal"],
        "spans": MODELS["mlm"] | {"target": "spans"},
    }
    figure, points = mask.draw(study((1,), others), **SHOWN | {"models": MODELS | others})
    # Their places are 7, 8 and 9, those of the initial ones 2 and 6.
    gain = at_top(points, mask.TOKEN, mask.GAIN)["y"]
    assert gain[list(others)].tolist() == pytest.approx([-0.1, -0.6, -0.3])
    shown = points[points["quantity"] == style.DISTANCE]
    panels = {panel: set(part["series"]) for panel, part in shown.groupby("panel")}
    untrained, variants, compared = mask.PAIRS
    assert panels[untrained] == {"untrained-untrained_causal"}
    assert {"mlm-mlm_40", "mlm-spans", "mt-mlm_40", "lm-spans"} < panels[compared]
    assert not any("causal" in pair for pair in panels[compared])
    # One target, or one mask.
    assert {"mlm_causal-mlm_40", "mlm_causal-mlm_causal_40", "lm-mlm_causal_40"} < panels[variants]
    assert not {"mlm_causal-spans", "mlm_causal_40-spans"} & panels[variants]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"mlm 40", "mlm causal 40", "spans"} < set(labels)
    names = [
        text.get_text()
        for axes in figure.axes
        if axes.get_legend()
        for text in axes.get_legend().get_texts()
    ]
    assert "MLM–mlm 40" in names and len(names) == len(set(names)) == shown["series"].nunique()


def test_models_of_one_mask_alone():
    tables = study()
    for name, table in tables.items():
        columns = [column for column in table if column.startswith("objective")]
        tables[name] = table[table[columns].isin(BOTH).all(axis="columns")]
    models = {name: MODELS[name] for name in BOTH}
    figure, points = mask.draw(tables, **SHOWN | {"models": models})
    figure.draw_without_rendering()
    assert mask.PAIRS[0] not in set(points["panel"])


@pytest.mark.parametrize("seeds", [(1,), (1, 2, 3)])
def test_all_is_in_sight(seeds, nothing_cut_off):
    figure, _ = mask.draw(study(seeds), **SHOWN)
    nothing_cut_off(figure)
    figure.draw_without_rendering()
    window = figure.get_window_extent()
    for axes in figure.axes:
        box = axes.get_tightbbox()
        assert window.x0 <= box.x0 and box.x1 <= window.x1
        assert window.y0 <= box.y0 and box.y1 <= window.y1


@pytest.mark.parametrize(
    "option, name",
    [
        ({"estimate": ESTIMATE | {"n_clusters": 7}}, "mutual_information"),
        ({"estimate": ESTIMATE | {"n_tokens": 7}}, "mutual_information"),
        ({"variant": "x"}, "pwcca_between"),
    ],
)
def test_what_was_not_measured(option, name):
    with pytest.raises(UserError, match=rf"table {name}\w* has no rows with"):
        mask.draw(study(), **SHOWN | option)
