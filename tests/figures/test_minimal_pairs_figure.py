from itertools import product

import pandas as pd
import pytest

from bottomup.figures import minimal_pairs
from bottomup.published import load_published


def table(phenomena=("binding", "ellipsis")):
    rows = []
    for (place, objective), by, name in product(
        enumerate(["mlm", "lm"]), ("model", "5-grams"), (*phenomena, "all")
    ):
        value = 0.8 - 0.1 * place if by == "model" else 0.5
        names = {"objective": objective, "seed": 1, "by": by, "phenomenon": name}
        ends = {"accuracy": value, "ci_low": value - 0.1, "ci_high": value + 0.1, "n": 40}
        of_sets = ("all",) if name == "all" else ("all", "one of them")
        rows += [names | ends | {"set": of, "without": [value] * 2} for of in of_sets]
    return pd.DataFrame(rows)


def test_points_are_phenomena_beside_the_published_ones(nothing_cut_off):
    figure, drawn = minimal_pairs.draw({"minimal_pairs": table(), "blimp": load_published("blimp")})
    nothing_cut_off(figure)
    of = drawn.set_index(["series", "x"])["y"]
    assert of["lm"].to_dict() == pytest.approx({"binding": 0.7, "ellipsis": 0.7, "all": 0.7})
    assert of["5-grams"].to_dict() == pytest.approx({"binding": 0.5, "ellipsis": 0.5, "all": 0.5})
    # As the authors' summary has them; of all sets only beside all phenomena.
    assert of["GPT-2"].to_dict() == pytest.approx({"binding": 0.8094, "ellipsis": 0.8935}, abs=1e-3)
    assert of["5-gram", "binding"] == pytest.approx(0.6441, abs=1e-3)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:3] == ["LM", "MLM", "5-grams of the training text"]
    assert labels[-1] == "GPT-2, published"


def test_all_sets_are_the_published_ones():
    theirs = load_published("blimp")
    _, drawn = minimal_pairs.draw(
        {"minimal_pairs": table(tuple(theirs["panel"].unique())), "blimp": theirs}
    )
    of = drawn.set_index(["series", "x"])["y"]
    assert of["GPT-2", "all"] == pytest.approx(0.8302, abs=1e-3)
    assert of["LSTM", "all"] == pytest.approx(0.6981, abs=1e-3)


def test_pairs_of_ones_own_stand_alone():
    _, drawn = minimal_pairs.draw({"minimal_pairs": table(("mine",))})
    assert set(drawn["source"]) == {"ours"} and len(drawn) == 3 * 2
