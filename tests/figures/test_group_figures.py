import warnings

import numpy as np
import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.figures import (
    change_of_groups,
    groups,
    influence_of_groups,
    influence_with_token_dropout,
    matching,
)
from bottomup.measures.groups import RANKS, TAGS
from bottomup.published import load_published

FIGURES = {
    ("change", "frequency_rank"): (change_of_groups, "change_freq"),
    ("change", "pos"): (change_of_groups, "change_pos"),
    ("influence", "frequency_rank"): (influence_of_groups, "influence_freq"),
    ("influence", "pos"): (influence_of_groups, "influence_pos"),
}
EVERY = pytest.mark.parametrize(("name", "grouping"), FIGURES)
TITLES = {"mt": "MT", "lm": "LM", "mlm": "MLM"}


def draw(name, grouping, tables, published=True):
    module, curves = FIGURES[name, grouping]
    behind = {curves: load_published(curves)} if published else {}
    return module.draw(tables | behind, grouping=grouping)


@pytest.fixture(scope="module", params=FIGURES, ids=" ".join)
def drawn(request, study):
    """A figure of each kind of the usual study: its name and grouping, the figure, its points."""
    return *request.param, *draw(*request.param, study())


def curve(points, panel, series, source="ours"):
    of = (points["panel"] == panel) & (points["series"] == series) & (points["source"] == source)
    return points[of].set_index("x")


def at(table):
    """The x of each row: a step, or a layer."""
    if "layer" in table:
        return table["layer"]
    return table["layer_a"].astype(str) + "-" + table["layer_b"].astype(str)


def test_points_are_the_table(study, drawn, of_two_runs):
    name, grouping, _, points = drawn
    table = study()[name]
    table = table[table["matching"] == "published"].assign(x=at(table))
    table = table[(table["grouping"] == grouping) & (table["x"] != "0-1")]
    curves = table.groupby(["objective", "group"])
    assert len(points[points["source"] == "ours"]) == curves.ngroups * table["x"].nunique()
    for (objective, group), rows in curves:
        of, by_x = curve(points, objective, group), rows.groupby("x")
        assert of["y"].to_dict() == by_x["distance"].mean().to_dict()
        for x, runs in by_x["distance"]:
            assert (of["low"][x], of["high"][x]) == of_two_runs(runs)


def test_published_curves_are_the_data(drawn):
    name, grouping, _, points = drawn
    curves = load_published(FIGURES[name, grouping][1])
    assert (points["source"] == "published").sum() == len(curves)
    for objective, title in TITLES.items():
        for group, rows in curves[curves["panel"] == title].groupby("series"):
            of = curve(points, objective, group, "published")
            assert of["y"].to_dict() == rows.set_index("x")["y"].to_dict()


def test_panels_in_the_papers_order_with_the_paper_below(drawn, nothing_cut_off):
    figure = drawn[2]
    titles = [axes.get_title("left") for axes in figure.axes]
    assert titles == ["MT", "LM", "MLM", "untrained", "MT", "LM", "MLM", ""]
    nothing_cut_off(figure)
    assert len({axes.get_ylim() for axes in figure.axes}) == 1, "ours and the paper's on one axis"


@EVERY
def test_a_single_model_leaves_room_for_its_panel(study, name, grouping):
    figure, _ = draw(name, grouping, study(objectives=("mlm",)), published=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # constrained_layout gives up with a warning
        figure.draw_without_rendering()
    assert figure.axes[0].get_window_extent().width > figure.get_window_extent().width / 3


@EVERY
def test_panels_without_an_empty_one_leave_room_for_the_legend(study, name, grouping):
    figure, _ = draw(name, grouping, study(objectives=("mt", "mlm")))
    figure.draw_without_rendering()
    left, right = (axes.xaxis.label.get_window_extent() for axes in figure.axes[-2:])
    assert left.width and left.x1 < right.x0


def test_every_group_that_is_measured_has_a_look():
    assert list(groups.LOOKS["frequency_rank"]) == list(RANKS)
    assert list(groups.LOOKS["pos"]) == list(TAGS)


def test_every_group_has_a_look_of_its_own(drawn):
    *_, figure, points = drawn
    legend = figure.axes[-1].get_legend()
    *lines, _ = [(line.get_color(), line.get_linestyle()) for line in legend.get_lines()]
    assert len(set(lines)) == len(lines) == points["series"].nunique()


@EVERY
def test_three_layers_one_seed_and_none_of_the_papers_objectives(study, name, grouping):
    tables = study(layers=3, seeds=(4,), objectives=("electra", "untrained"))
    figure, points = draw(name, grouping, tables)
    assert set(points["panel"]) == {"electra", "untrained"}
    assert set(points["source"]) == {"ours"}
    figure.draw_without_rendering()


def test_the_step_out_of_the_embeddings_is_shown_where_it_is_the_only_one(study):
    _, points = draw("change", "pos", study(layers=1), published=False)
    assert set(points["x"]) == {"0-1"}


@pytest.fixture
def of_two_depths(study):
    """MLM has two layers, LM one."""
    deep, shallow = study(2, objectives=("mlm",)), study(1, objectives=("lm",))
    return {name: pd.concat([deep[name], shallow[name]]) for name in ("change", "influence")}


def test_each_model_has_the_steps_of_its_own_depth(of_two_depths):
    figure, points = draw("change", "pos", of_two_depths, published=False)
    steps = points[["panel", "x"]].drop_duplicates()
    assert sorted(zip(steps["panel"], steps["x"], strict=True)) == [("lm", "0-1"), ("mlm", "1-2")]
    figure.draw_without_rendering()


def test_matching_has_the_change_of_a_model_of_one_layer(of_two_depths):
    _, points = matching.draw(of_two_depths)
    found = {panel for panel in points["panel"] if panel.endswith(", change, pos")}
    assert found == {"lm, change, pos", "mlm, change, pos"}


def test_the_legend_says_how_much_text(drawn):
    name, grouping, figure, _ = drawn
    counts = "2,000 occurrences each"
    if name == "influence":
        # 300, and 100 more for each letter of a group's name.
        counts = {"frequency_rank": "700–800", "pos": "500–800"}[grouping] + " sentences each"
    assert counts in figure.axes[-1].get_legend().get_title().get_text()


def test_a_grouping_that_was_not_measured(study):
    tables = study()
    tables["change"] = tables["change"][tables["change"]["grouping"] == "pos"]
    with pytest.raises(
        UserError, match=r"change has no rows with grouping frequency_rank, .*; found grouping pos"
    ):
        draw("change", "frequency_rank", tables)


WITH_DROPOUT = {"lm_noise": ["lm"], "mt_noise": ["mt"]}


def test_token_dropout_beside_training_without(study, nothing_cut_off):
    published = {name: load_published(name) for name in ("influence_freq", "influence_freq_iwd")}
    tables = study(objectives=("lm", "lm_noise", "mlm", "mt", "mt_noise"))
    figure, points = influence_with_token_dropout.draw(tables | published, WITH_DROPOUT)
    titles = ["MT", "MT, token dropout", "LM", "LM, token dropout"]
    assert [axes.get_title("left") for axes in figure.axes] == titles * 2
    nothing_cut_off(figure)
    for panel, name in (("lm", "influence_freq"), ("lm_noise", "influence_freq_iwd")):
        curves = published[name]
        expected = curves[(curves["panel"] == "LM") & (curves["series"] == "10k-30k")]
        drawn = curve(points, panel, "10k-30k", "published")
        assert drawn["y"].to_dict() == expected.set_index("x")["y"].to_dict()
    table = tables["influence"].query(
        "objective == 'mt_noise' and group == '25-50' and matching == 'published'"
    )
    expected = table.groupby("layer")["distance"].mean().to_dict()
    assert curve(points, "mt_noise", "25-50")["y"].to_dict() == expected


def test_one_objective_with_token_dropout(study):
    published = {"influence_freq_iwd": load_published("influence_freq_iwd")}
    tables = study(objectives=("lm", "lm_noise")) | published
    _, points = influence_with_token_dropout.draw(tables, WITH_DROPOUT)
    assert set(points["panel"]) == {"lm", "lm_noise"}


def test_a_new_objective_with_token_dropout_stands_beside_all_that_have_its_target(study):
    tables = study(objectives=("lm", "lm_noise", "mlm", "mlm_40", "mlm_hidden"))
    variants = {"lm_noise": ["lm"], "mlm_hidden": ["mlm", "mlm_40"]}
    figure, _ = influence_with_token_dropout.draw(tables, variants)
    titles = [axes.get_title("left") for axes in figure.axes]
    assert titles == ["LM", "LM, token dropout", "MLM", "mlm hidden", "mlm 40"]


def test_no_objective_with_token_dropout(study):
    with pytest.raises(UserError, match=r"found mt, lm, mlm, untrained; add mt_noise"):
        influence_with_token_dropout.draw(study(), WITH_DROPOUT)


def test_matching_shows_groups_relative_to_their_mean(study, nothing_cut_off):
    tables = study(seeds=(1,))
    measured = tables["influence"]
    # Ten types of two groups, one of which changes three times as much as the other.
    change = tables["change"].query("objective == 'lm' and group in ['1-10', '10-25']")
    few = change[change["matching"] == "matched"].assign(matching="ten_types")
    factor = few["group"].map({"1-10": 1, "10-25": 3})
    few["distance"] = factor
    few["without"] = [value * np.array([1, 1, 1.1]) for value in factor]
    tables["change"] = few
    figure, points = matching.draw(tables)
    assert [axes.get_title("left") for axes in figure.axes[:4]] == [
        "change, by frequency rank",
        "change, by part of speech",
        "influence, by frequency rank",
        "influence, by part of speech",
    ]
    nothing_cut_off(figure)
    found = curve(points, "lm, change, frequency_rank", "ten_types")
    assert found["y"].to_dict() == pytest.approx({"1-10": 0.5, "10-25": 1.5})
    # What all groups have in common without a block is no uncertainty of theirs.
    assert (found["high"] - found["low"]).fillna(0).to_numpy() == pytest.approx(0)
    rows = measured.query("objective == 'mt' and grouping == 'pos' and matching == 'matched'")
    # At any layer the same share of the mean: 0.02, and 0.0005 for each letter of NN, PRP$, comma.
    shares = {name: 0.0203 + 0.0005 * len(name) for name in ("NN", "PRP$", "comma")}
    mean = np.mean(list(shares.values()))
    expected = {name: share / mean for name, share in shares.items()}
    assert set(rows["group"]) == set(expected)
    found = curve(points, "mt, influence, pos", "matched")["y"].to_dict()
    assert found == pytest.approx(expected)


def test_matching_without_parts_of_speech_has_no_panels_of_them(study, nothing_cut_off):
    tables = study(layers=1, seeds=(1,), objectives=("lm",))
    for name in ("change", "influence"):
        tables[name] = tables[name].query("grouping == 'frequency_rank'")
    figure, _ = matching.draw(tables)
    titles = [axes.get_title("left") for axes in figure.axes]
    assert titles[:2] == ["change, by frequency rank", "influence, by frequency rank"]
    assert all(axes.has_data() for axes in figure.axes)
    nothing_cut_off(figure)


def test_matching_has_the_error_of_what_is_drawn(study):
    """One of two groups is uncertain: values 2, and 1, 2.5 and 3 without a block, beside 1."""
    tables = study(layers=1, seeds=(1,), objectives=("lm", "mt"))
    for name in ("change", "influence"):
        table = tables[name].query("group in ['1-10', '10-25', 'NN', 'comma']")
        sure = table["group"].isin(["1-10", "NN"])
        without = [np.ones(3) if is_sure else np.array([1.0, 2.5, 3.0]) for is_sure in sure]
        tables[name] = table.assign(distance=np.where(sure, 1, 2), without=without)
    _, points = matching.draw(tables)
    found = curve(points, "lm, influence, frequency_rank", "published").loc["10-25"]
    values = np.array([1, 10 / 7, 3 / 2])
    error = np.sqrt(2 / 3 * ((values - values.mean()) ** 2).sum())
    # 4.303 is the 97.5 % point of Student's t with two degrees of freedom.
    assert found["y"] == pytest.approx(4 / 3)
    # On the logarithm, since no distance is below 0.
    factor = np.exp(4.303 * error / (4 / 3))
    assert found["high"] == pytest.approx(4 / 3 * factor, rel=1e-3)
    assert found["low"] == pytest.approx(4 / 3 / factor, rel=1e-3)


def test_many_models_are_in_several_rows(study):
    """Of 12 in one row none could be read."""
    [table] = [study()[name] for name in ("influence",)]
    first = table[table["objective"] == table["objective"].iloc[0]]
    many = pd.concat([first.assign(objective=f"model_{n}") for n in range(12)])
    figure, _ = influence_of_groups.draw({"influence": many}, "frequency_rank")
    width, height = figure.get_size_inches()
    assert len(figure.axes) == 12 and width < 17 and height > 4
    tops = [axes.get_ylim() for axes in figure.axes]
    assert len(set(tops)) == 1
