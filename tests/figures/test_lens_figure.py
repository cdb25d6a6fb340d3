from itertools import product

import numpy as np
import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.figures import lens

LAYERS = 3
GROUPS = {"pos": ["DT", "NN"], "frequency_rank": ["10-25", "1-10"]}


def table(objectives=("lm", "mt"), grouped=("lm",)):
    rows = []

    def add(objective, value, layer, **names):
        ends = {"value": value, "ci_low": value - 0.1, "ci_high": value + 0.1, "n": 100}
        whole = {"objective": objective, "seed": 1, "lens": "tuned", "layer": layer}
        rows.append(whole | {"grouping": "all", "group": "all"} | names | ends)

    for objective, name, layer in product(objectives, ("tuned", "logit"), range(LAYERS + 1)):
        loss = 4 - layer / 2 + (name == "logit") + (objective == "mt") / 4
        add(objective, loss, layer, lens=name, measure="loss_nats")
        if layer:
            add(objective, 0.5 - layer / 10, layer, lens=name, measure="turned")
    for objective in objectives:
        add(objective, 1.5, np.nan, measure="turns")
    for objective, grouping in product(grouped, GROUPS):
        for place, group in enumerate(GROUPS[grouping]):
            of = {"grouping": grouping, "group": group}
            add(objective, 1 + place, np.nan, measure="turns", **of)
            add(objective, 9, 0, measure="loss_nats", **of)  # which the figure does not show
    return pd.DataFrame(rows)


def test_points_are_the_table():
    _, drawn = lens.draw({"lens": table()})
    loss = drawn[drawn["panel"] == "loss"].set_index(["series", "x"])["y"]
    assert set(loss.index.get_level_values("series")) == {
        *("lm", "mt", "lm, logit lens", "mt, logit lens"),
    }
    assert loss["lm"].tolist() == [4, 3.5, 3, 2.5]
    assert loss["mt, logit lens"].tolist() == [5.25, 4.75, 4.25, 3.75]
    turned = drawn[drawn["panel"] == "turned"]
    assert set(turned["series"]) == {"lm", "mt"} and turned["x"].tolist() == [1, 2, 3] * 2
    ranks = drawn[drawn["panel"] == "frequency_rank"].set_index("x")["y"]
    assert ranks.to_dict() == {"1-10": 2, "10-25": 1} and list(ranks.index) == ["1-10", "10-25"]
    assert (drawn["low"] < drawn["y"]).all() and (drawn["runs"] == 1).all()


def test_a_panel_for_each_grouping_says_of_which_tokens(nothing_cut_off):
    figure, _ = lens.draw({"lens": table()})
    nothing_cut_off(figure)
    labels = [axes.get_xlabel() for axes in figure.axes if axes.axison]
    assert labels[2:] == [
        *("frequency rank of the token to predict", "part of speech of the token to predict"),
    ]
    ticks = [label.get_text() for label in figure.axes[3].get_xticklabels()]
    assert ticks == ["NN", "DT"], "in the order of other figures"
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [
        *("MT", "LM", "MT, logit lens", "LM, logit lens"),
        "95 % interval, documents (one run)",
    ]


def test_without_groups_there_is_one_row():
    figure, drawn = lens.draw({"lens": table(grouped=())})
    assert len(figure.axes) == 2 and set(drawn["panel"]) == {"loss", "turned"}


def test_one_grouping_leaves_the_other_panel_empty():
    rows = table().query("grouping != 'pos'")
    figure, _ = lens.draw({"lens": rows})
    assert [axes.axison for axes in figure.axes] == [True, True, True, False]


def test_a_table_without_values_is_refused():
    with pytest.raises(UserError, match="has no column value"):
        lens.draw({"lens": table().drop(columns="value")})
