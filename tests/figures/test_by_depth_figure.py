"""Curves of several studies over relative depth."""

import pandas as pd
import pytest

from bottomup.figures import by_depth
from bottomup.figures.points import COLUMNS, NoRowsError

INFORMATION, CHANGE = "mutual_information_input", "change of mutual information"


def of_study(depth, series=("mt", "lm"), panel="input: change", published=0, quantity=CHANGE):
    """Points as a figure of a study writes them, whose values tell what they are of."""
    rows = [
        {"panel": panel, "series": name, "x": x, "y": -x, "runs": 1, "source": source}
        for source, top in (("ours", depth), ("published", published))
        for name in series
        for x in (range(top + 1) if top else ())
    ]
    return pd.DataFrame(rows, columns=COLUMNS).assign(quantity=quantity)


def draw(studies, panel="input: change", figure=INFORMATION):
    tables = {f"a figure of {name}": rows for name, rows in studies.items()}
    return by_depth.draw(tables, list(studies), figure, panel)


def test_layers_are_shares_of_the_models_own_depth():
    studies = {"small": of_study(2), "deep": of_study(4)}
    figure, drawn = draw(studies)
    lm = drawn[drawn["panel"] == "lm"]
    places = {
        name: [*rows[["x", "y"]].itertuples(index=False, name=None)]
        for name, rows in lm.groupby("series")
    }
    assert places == {
        "small": [(0, 0), (0.5, -1), (1, -2)],
        "deep": [(0, 0), (0.25, -1), (0.5, -2), (0.75, -3), (1, -4)],
    }
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["MT", "LM"]


def test_panels_are_those_of_the_first_study():
    studies = {"ours": of_study(2, ["lm"]), "theirs": of_study(2, ["mlm", "lm", "mt"])}
    _, drawn = draw(studies)
    assert {*drawn["panel"]} == {"lm"} and {*drawn["series"]} == {"ours", "theirs"}


def test_published_curves_stand_once_behind_at_their_own_depth():
    studies = {"small": of_study(2, published=6), "deep": of_study(4, published=6)}
    figure, drawn = draw(studies)
    published = drawn[drawn["source"] == "published"]
    assert published.groupby("panel")["x"].agg(list).to_dict() == dict.fromkeys(
        ["mt", "lm"], pytest.approx([0, 1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1])
    )
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == ["small", "deep", "Voita et al. 2019"]


def test_a_study_without_the_panel_is_left_out():
    studies = {"small": of_study(2), "other": of_study(2, panel="svcca-2019")}
    figure, drawn = draw(studies)
    assert {*drawn["series"]} == {"small"}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["small"]


def test_pairs_of_models_have_their_titles_and_what_they_are_less_others_is_left_out():
    named = {"series": ["lm-lm", "mt-mlm"], "panel": "definition"}
    apart = of_study(2, **named, quantity="PWCCA distance")
    further = of_study(2, **named, quantity="further apart than MT and MLM")
    of_one = {"a": pd.concat([apart, further])}
    figure, drawn = draw(of_one, "definition", "distance_between_tasks")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["MT–MLM", "LM, two seeds"]
    assert {*drawn["quantity"]} == {"PWCCA distance"} and len(drawn) == len(apart)


def test_a_first_study_without_points_is_said():
    with pytest.raises(
        NoRowsError, match="mutual_information_input of ours has no points in its panel 'x'"
    ):
        draw({"ours": of_study(2), "theirs": of_study(2, panel="x")}, "x")
