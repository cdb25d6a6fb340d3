import numpy as np
import pytest

from bottomup.figures import senses
from bottomup.figures.senses import PROPERTIES


@pytest.mark.parametrize("name", PROPERTIES)
def test_points_are_the_table_by_layer(study, name, require_means):
    tables = study()
    rows = tables["senses"].query(f"property == '{name}'")
    tables["senses"] = tables["senses"].sample(frac=1, random_state=1)
    _, points = senses.draw(tables)
    panel = points[points["panel"] == name]
    require_means(panel, rows, low=-np.inf, high=1)


def test_what_is_far_below_chance_lies_in_its_interval(study):
    rows = study()["senses"]
    without = [of - 3 for of in rows["without"]]
    _, points = senses.draw({"senses": rows.assign(value=rows["value"] - 3, without=without)})
    assert (points["low"] < points["y"]).all() and (points["y"] < points["high"]).all()


def test_a_panel_for_each_property_over_a_line_of_chance(study, nothing_cut_off):
    figure, points = senses.draw(study())
    nothing_cut_off(figure)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        *("same translation\n40 words", "same next token\n39 words"),
        "same translation beside other tokens\n38 words",
    ]
    label = "share of the 5 nearest neighbors, above chance"
    assert [axes.get_ylabel().split("\n")[0] for axes in figure.axes] == [label, "", ""]
    assert (points["quantity"] == label).all()
    assert all(np.allclose(axes.get_lines()[0].get_ydata(), 0) for axes in figure.axes)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["MT", "LM", "MLM", "untrained", "95 % interval, runs and documents"]


def test_a_property_without_values_leaves_its_panel_empty(study):
    table = study(seeds=(1,))["senses"].query("property != 'translation_apart'")
    figure, points = senses.draw({"senses": table})
    assert "translation_apart" not in set(points["panel"])
    assert figure.axes[2].get_title(loc="left") == (
        "same translation beside other tokens\ntoo few words"
    )
    figure.draw_without_rendering()
