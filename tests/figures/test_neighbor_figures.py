import numpy as np
import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.figures import neighbors
from bottomup.figures.neighbors import DIFFERENCE
from bottomup.published import load_published

# Without a block of documents.
APART = np.array([-0.3, -0.2, -0.1, 0.05, 0.1, 0.2, 0.25])
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
    return points[of & (points["quantity"] != DIFFERENCE)].set_index("x")


@EVERY
def test_points_are_the_table(study, published, of_two_runs):
    tables = study()
    _, points = draw(tables, published)
    for name in FIGURES[published]:
        table = tables["neighbors"].query(f"property == '{name}'")
        for objective, rows in table.groupby("objective"):
            drawn, by_layer = curve(points, name, objective), rows.groupby("layer")["value"]
            assert drawn["y"].to_dict() == pytest.approx(by_layer.mean().to_dict())
            most = np.inf if name == "position" else 1
            for layer, runs in by_layer:
                found = drawn["low"][layer], drawn["high"][layer]
                assert found == of_two_runs(runs, high=most)
        chance = points[(points["panel"] == name) & (points["quantity"] == "chance")]
        assert chance["y"].tolist() == pytest.approx([table["chance"].iloc[0]])


@EVERY
def test_published_curves_are_the_data(study, published):
    _, points = draw(study(), published)
    curves = load_published(published)
    theirs = points[(points["source"] == "published") & (points["quantity"] != DIFFERENCE)]
    assert len(theirs) == len(curves)
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
    above, below = np.split(np.array(figure.axes), 2)
    for axes in above:
        assert axes.texts[0].get_text().startswith("chance\n= ")
    for axes in (above[0], below[0]):
        assert axes.yaxis_inverted() == (published == "evolution_position")


def test_differences_between_models_are_taken_run_by_run_and_block_by_block(study):
    tables = study()
    table = tables["neighbors"]
    # A run's neighbors of one token are more alike in both models, so are those of a block.
    of = (table["property"] == "token") & (table["layer"] == 3)
    for objective, values in {"lm": [0.5, 0.7], "mlm": [0.6, 0.8], "mt": [0.6, 0.6]}.items():
        rows = table.index[of & (table["objective"] == objective)]
        table.loc[rows, "value"] = values
        apart = APART + np.array([0, 0, 0, 0, 0, 0.3, 0]) if objective == "mt" else APART
        table.loc[rows, "without"] = pd.Series([value + apart for value in values], index=rows)
    _, points = draw(tables, "evolution_token")
    of = (points["quantity"] == DIFFERENCE) & (points["x"] == 3) & (points["source"] == "ours")
    found = points[of].set_index("series")
    assert found["y"].to_dict() == pytest.approx({"mt-mlm": -0.1, "lm-mt": 0.0, "lm-mlm": -0.1})
    # Nothing tells LM from MLM by chance: neither runs nor documents.
    assert np.isnan(found["low"]["lm-mlm"])
    # One block of MT alone differs, which tells of no other text.
    assert np.isnan(found["low"]["mt-mlm"])
    paper = load_published("evolution_token").set_index(["series", "x"])["y"]
    of = (points["quantity"] == DIFFERENCE) & (points["source"] == "published")
    theirs = points[of].set_index(["series", "x"])["y"]
    assert theirs["lm-mt", 4] == pytest.approx(paper["LM", 4] - paper["MT", 4])


def test_without_the_papers_models_the_first_trained_ones_are_compared(study):
    objectives = ("aa", "bb", "untrained", "bb_untrained")
    _, points = neighbors.draw(study(objectives=objectives), properties=["token"])
    assert set(points.loc[points["quantity"] == DIFFERENCE, "series"]) == {"aa-bb"}
    figure, points = neighbors.draw(study(objectives=("aa", "untrained")), properties=["token"])
    assert DIFFERENCE not in set(points["quantity"]) and len(figure.axes) == 1


def test_axes_of_positions_say_their_unit(study):
    figure, _ = neighbors.draw(study(), properties=["position"])
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert len(labels) == 2 and all(label.endswith(", tokens") for label in labels)


def test_models_of_other_depths_are_not_compared_layer_by_layer(study):
    deep = study(objectives=("aa", "bb"))["neighbors"]
    tables = {"neighbors": pd.concat([study(2, objectives=("cc",))["neighbors"], deep])}
    _, points = neighbors.draw(tables, properties=["token"])
    assert set(points["series"]) >= {"aa", "bb", "cc"}
    assert set(points.loc[points["quantity"] == DIFFERENCE, "series"]) == {"aa-bb"}


def test_without_intervals_the_legend_names_none(study):
    """As of one document; models see other occurrences, of which chance is another."""
    tables = study(seeds=(1,))
    rows = tables["neighbors"]
    other = rows["chance"] + 0.01 * (rows["objective"] == "lm")
    tables["neighbors"] = rows.assign(ci_low=np.nan, ci_high=np.nan, chance=other)
    figure, points = draw(tables, "evolution_token")
    assert points["low"].isna().all()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "LM" in labels and not any("interval" in label for label in labels)


def test_the_title_says_where_categories_are_from(study):
    figure, _ = draw(study(), "evolution_same_ccg")
    title = "same CCG category, derived from dependencies\n20 tokens, 10,000 occurrences"
    assert figure.axes[0].get_title("left") == title


def test_a_property_that_was_not_measured(study):
    tables = study()
    tables["neighbors"] = tables["neighbors"].query("property == 'token'")
    with pytest.raises(UserError, match="no rows with property position; found property token"):
        draw(tables, "evolution_position")
