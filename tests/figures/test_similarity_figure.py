import numpy as np
import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.figures import similarity_between_runs, style

MEASURES = ["cka_debiased", "cka", "rsa", "procrustes_distance", "svcca_distance"]
DISTANCES = [name for name in MEASURES if name.endswith("distance")]
NAMES = ("lm", "mlm", "mt", "untrained", "untrained_causal")


@pytest.mark.parametrize("measure", MEASURES)
def test_points_are_the_table(study, measure):
    tables = study()
    _, points = similarity_between_runs.draw(tables)
    table = tables["similarity_between_runs"]
    for series, a, b in (("mt-mlm", "mlm", "mt"), ("lm-mlm", "lm", "mlm"), ("lm-lm", "lm", "lm")):
        pair = (table["objective_a"] == a) & (table["objective_b"] == b)
        rows = table[pair & (table["measure"] == measure)].set_index("layer")
        of = (points["panel"] == measure) & (points["series"] == series)
        drawn = points[of].set_index("x")
        assert drawn["y"].to_dict() == rows["value"].to_dict()
        assert drawn["low"].to_dict() == rows["ci_low"].to_dict()
        assert drawn["high"].to_dict() == rows["ci_high"].to_dict()


def test_each_panel_has_each_pair(study):
    _, points = similarity_between_runs.draw(study(objectives=NAMES))
    pairs = {"mt-mlm", "lm-mt", "lm-mlm", *(f"{name}-{name}" for name in NAMES)}
    assert set(points["panel"]) == set(MEASURES)
    for _, panel in points.groupby("panel"):
        assert set(panel["series"]) == pairs, "untrained ones with others of one objective alone"
    quantities = dict(points[["panel", "quantity"]].drop_duplicates().itertuples(index=False))
    assert {name for name in MEASURES if quantities[name] == "distance"} == set(DISTANCES)


def test_axes_say_which_value_is_the_same(study, nothing_cut_off):
    figure, _ = similarity_between_runs.draw(study())
    nothing_cut_off(figure)
    similarities, distances = figure.axes[:3], figure.axes[3:]
    assert {axes.get_ylabel() for axes in similarities} == {"similarity (1 = same)"}
    assert {axes.get_ylabel() for axes in distances} == {"distance (0 = same)"}
    for axes in figure.axes:
        same = "same\n= 1" if axes in similarities else "same\n= 0"
        assert [text.get_text() for text in axes.texts] == [same]
    assert distances[0].get_title("left") == "Procrustes distance\n100,000 occurrences"
    shared = [axes.get_ylim() for axes in similarities]
    assert len(set(shared)) == 1 and distances[0].get_ylim() != distances[1].get_ylim()


def test_calibrated_values_are_similarities_with_their_intervals(study, nothing_cut_off):
    tables = study()
    table = tables["similarity_between_runs"]
    # By hand: of .8 to .9 above a null of .6, a half to three quarters; as of .2 to .1 below .4.
    similar = ~table["measure"].isin(DISTANCES)
    for column, of_similar, of_distance in (
        *(("value", 0.84, 0.16), ("ci_low", 0.8, 0.1), ("ci_high", 0.9, 0.2)),
        *(("null", 0.6, 0.4), ("calibrated", 0.6, 0.6)),
    ):
        table[column] = np.where(similar, of_similar, of_distance)
    figure, points = similarity_between_runs.draw(tables, calibrated=True)
    nothing_cut_off(figure)
    assert set(points["panel"]) == set(MEASURES)
    np.testing.assert_allclose(points["y"], 0.6)
    np.testing.assert_allclose(points["low"], 0.5)
    np.testing.assert_allclose(points["high"], 0.75)
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    for axes in figure.axes:
        assert axes.get_ylabel() == "calibrated (1 = same, 0 = chance)"
        assert [text.get_text() for text in axes.texts] == ["same\n= 1"]
    # What may be chance is at 0, and an interval that is all chance is none.
    table[["value", "ci_low", "ci_high", "calibrated"]] = 0.5, 0.45, 0.55, 0
    _, points = similarity_between_runs.draw(tables, calibrated=True)
    assert (points["y"] == 0).all() and points[["low", "high"]].isna().all(axis=None)


def test_halves_of_the_text_are_compared(study):
    tables = study(objectives=("lm", "lm_half1", "lm_half2"))
    table = tables["similarity_between_runs"]
    halves = (table["objective_a"] == "lm_half1") & (table["objective_b"] == "lm_half2")
    whole = (table["objective_a"] == "lm") & (table["objective_b"] == "lm")
    tables["similarity_between_runs"] = table[halves | whole].iloc[::-1]
    figure, points = similarity_between_runs.draw(tables)
    assert set(points["series"]) == {"lm-lm", "lm_half1-lm_half2"}
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert style.pair("lm_half1", "lm_half2").label in labels


@pytest.mark.parametrize("layers", [1, 12])
def test_other_depths_and_one_seed(study, layers):
    figure, points = similarity_between_runs.draw(study(layers=layers, seeds=(3,)))
    assert set(points["series"]) == {"mt-mlm", "lm-mt", "lm-mlm"}
    figure.draw_without_rendering()


def fails(tables, match):
    """Drawing ends in a line that says why."""
    with pytest.raises(UserError, match=match) as raised:
        similarity_between_runs.draw(tables)
    assert "\n" not in str(raised.value)


def test_a_measure_that_is_missing_or_unknown(study):
    """Those that need more occurrences than there are have an empty panel."""
    tables = study()
    whole = tables["similarity_between_runs"]
    tables["similarity_between_runs"] = whole.query("measure == 'rsa'")
    figure, points = similarity_between_runs.draw(tables)
    assert set(points["panel"]) == {"rsa"}
    empty = {
        axes.get_title("left"): len(axes.get_xticks())
        for axes in figure.axes
        if style.NO_VALUES in [text.get_text() for text in axes.texts]
    }
    assert len(empty) == 4 and empty["SVCCA distance\ntoo few occurrences"] == 0
    unknown = whole.assign(measure=whole["measure"].replace("cka", "overlap"))
    tables["similarity_between_runs"] = unknown
    fails(tables, "similarity_between_runs has overlap; this figure shows cka_debiased")


def test_a_model_from_elsewhere_is_compared_whatever_its_seed(study):
    tables = study(objectives=("lm", "mt"), seeds=(1,))
    table = tables["similarity_between_runs"]
    elsewhere = table.assign(objective_b="bert", seed_b=0)
    tables["similarity_between_runs"] = pd.concat([table, elsewhere])
    _, points = similarity_between_runs.draw(tables)
    assert set(points["series"]) == {"lm-mt", "lm-bert"}


def test_nothing_to_compare():
    fails({}, "table 'similarity_between_runs' is missing")


def test_many_pairs_are_in_several_rows_of_panels(study):
    table = study()["similarity_between_runs"]
    one = table[(table["objective_a"] == "lm") & (table["objective_b"] == "mlm")]
    pairs = [(f"a{i}", f"b{i}") for i in range(15)]
    many = pd.concat([one.assign(objective_a=a, objective_b=b) for a, b in pairs])
    figure, points = similarity_between_runs.draw({"similarity_between_runs": many})
    # Of 15 pairs 8 and 7, for three similarities and two distances.
    lines = [sum(len(line.get_xdata()) > 2 for line in axes.lines) for axes in figure.axes]
    assert sorted(lines) == [7] * 5 + [8] * 5
    assert points["series"].nunique() == 15
