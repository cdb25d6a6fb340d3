import pytest

from bottomup.errors import UserError
from bottomup.figures import (
    change_of_groups,
    groups,
    influence_of_groups,
    influence_with_token_dropout,
)
from bottomup.figures.points import load_published
from bottomup.measures.groups import RANKS, TAGS

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


def test_points_are_the_table(study, drawn):
    name, grouping, _, points = drawn
    table = study()[name]
    table = table.assign(x=at(table))
    table = table[(table["grouping"] == grouping) & (table["x"] != "0-1")]
    curves = table.groupby(["objective", "group"])
    assert len(points[points["source"] == "ours"]) == curves.ngroups * table["x"].nunique()
    for (objective, group), rows in curves:
        of, by_x = curve(points, objective, group), rows.groupby("x")
        assert of["y"].to_dict() == by_x["distance"].mean().to_dict()
        assert of["low"].to_dict() == by_x["ci_low"].min().to_dict()
        assert of["high"].to_dict() == by_x["ci_high"].max().to_dict()


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


def test_every_group_that_is_measured_has_a_look():
    assert list(groups.LOOKS["frequency_rank"]) == list(RANKS)
    assert list(groups.LOOKS["pos"]) == list(TAGS)


def test_every_group_has_a_look_of_its_own(drawn):
    *_, figure, points = drawn
    legend = figure.axes[-1].get_legend()
    lines = [(line.get_color(), line.get_linestyle()) for line in legend.get_lines()]
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
    with pytest.raises(UserError, match=r"grouping frequency_rank; found pos, .* change"):
        draw("change", "frequency_rank", tables)


def test_token_dropout_beside_training_without(study, nothing_cut_off):
    published = {name: load_published(name) for name in ("influence_freq", "influence_freq_iwd")}
    tables = study(objectives=("lm", "lm_noise", "mlm", "mt", "mt_noise"))
    figure, points = influence_with_token_dropout.draw(tables | published)
    titles = ["MT", "MT, token dropout", "LM", "LM, token dropout"]
    assert [axes.get_title("left") for axes in figure.axes] == titles * 2
    nothing_cut_off(figure)
    for panel, name in (("lm", "influence_freq"), ("lm_noise", "influence_freq_iwd")):
        curves = published[name]
        expected = curves[(curves["panel"] == "LM") & (curves["series"] == "10k-30k")]
        drawn = curve(points, panel, "10k-30k", "published")
        assert drawn["y"].to_dict() == expected.set_index("x")["y"].to_dict()
    table = tables["influence"].query("objective == 'mt_noise' and group == '25-50'")
    expected = table.groupby("layer")["distance"].mean().to_dict()
    assert curve(points, "mt_noise", "25-50")["y"].to_dict() == expected


def test_one_objective_with_token_dropout(study):
    published = {"influence_freq_iwd": load_published("influence_freq_iwd")}
    tables = study(objectives=("lm", "lm_noise")) | published
    _, points = influence_with_token_dropout.draw(tables)
    assert set(points["panel"]) == {"lm", "lm_noise"}


def test_no_objective_with_token_dropout(study):
    with pytest.raises(UserError, match=r"found mt, lm, mlm, untrained, .*add mt_noise"):
        influence_with_token_dropout.draw(study())
