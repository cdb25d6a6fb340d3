import pytest

from bottomup.errors import UserError
from bottomup.figures import neighbors
from bottomup.figures.points import load_published

FIGURES = {
    "evolution_token": ["token"],
    "evolution_position": ["position"],
    "same_left_right_tokens": ["left_token", "right_token"],
    "evolution_same_ccg": ["ccg"],
    "evolution_ccg_left_right": ["ccg_left", "ccg_right"],
}
EVERY = pytest.mark.parametrize("published", FIGURES)


def draw(tables, published):
    curves = {published: load_published(published)}
    return neighbors.draw(tables | curves, properties=FIGURES[published])


def curve(points, panel, series, source="ours"):
    of = (points["panel"] == panel) & (points["series"] == series) & (points["source"] == source)
    return points[of].set_index("x")


@EVERY
def test_points_are_the_table(study, published):
    tables = study()
    _, points = draw(tables, published)
    for name in FIGURES[published]:
        table = tables["neighbors"].query(f"property == '{name}'")
        for objective, rows in table.groupby("objective"):
            drawn, by_layer = curve(points, name, objective), rows.groupby("layer")
            assert drawn["y"].to_dict() == by_layer["value"].mean().to_dict()
            assert drawn["low"].to_dict() == by_layer["ci_low"].min().to_dict()
            assert drawn["high"].to_dict() == by_layer["ci_high"].max().to_dict()
        chance = points[(points["panel"] == name) & (points["quantity"] == "chance")]
        assert chance["y"].tolist() == pytest.approx([table["chance"].iloc[0]])


@EVERY
def test_published_curves_are_the_data(study, published):
    _, points = draw(study(), published)
    curves = load_published(published)
    assert (points["source"] == "published").sum() == len(curves)
    panels = dict(zip(FIGURES[published], curves["panel"].unique(), strict=True))
    for name, panel in panels.items():
        for title in ("MT", "LM", "MLM"):
            rows = curves[(curves["panel"] == panel) & (curves["series"] == title)]
            drawn = curve(points, name, title.lower(), "published")
            assert drawn["y"].to_dict() == rows.set_index("x")["y"].to_dict()


@EVERY
def test_all_is_in_sight_and_chance_is_named(study, published, nothing_cut_off):
    figure, _ = draw(study(), published)
    nothing_cut_off(figure)
    for axes in figure.axes:
        assert axes.texts[0].get_text().startswith("chance = ")
    assert figure.axes[0].yaxis_inverted() == (published == "evolution_position")


def test_the_title_says_where_categories_are_from(study):
    figure, _ = draw(study(), "evolution_same_ccg")
    title = "same CCG category, derived from dependencies\n20 tokens, 10,000 occurrences"
    assert figure.axes[0].get_title("left") == title


def test_a_property_that_was_not_measured(study):
    tables = study()
    tables["neighbors"] = tables["neighbors"].query("property == 'token'")
    with pytest.raises(UserError, match="no rows with property position; found token"):
        draw(tables, "evolution_position")
