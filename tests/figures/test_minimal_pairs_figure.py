from itertools import product

import pandas as pd
import pytest

from bottomup.figures import minimal_pairs
from bottomup.published import load_published

BLIMP = load_published("blimp")


def table(sets=None):
    """Accuracies of these sets of each phenomenon; by default BLiMP's of two."""
    rows = []
    sets = sets or {name: theirs(name) for name in ("binding", "ellipsis")}
    named = [(name, of) for name in sets for of in ("all", *sets[name])]
    for (place, objective), by, (name, of) in product(
        enumerate(["mlm", "lm"]), ("model", "5-grams"), [*named, ("all", "all")]
    ):
        value = 0.8 - 0.1 * place if by == "model" else 0.5
        names = {"objective": objective, "seed": 1, "by": by, "phenomenon": name, "set": of}
        ends = {"accuracy": value, "ci_low": value - 0.1, "ci_high": value + 0.1, "n": 40}
        rows.append(names | ends | {"without": [value] * 2})
    return pd.DataFrame(rows)


def theirs(phenomenon):
    return BLIMP.loc[BLIMP["panel"] == phenomenon, "x"].unique().tolist()


def drawn_beside_blimp(sets=None):
    return minimal_pairs.draw({"minimal_pairs": table(sets), "blimp": BLIMP})


def test_points_are_phenomena_beside_the_published_ones(nothing_cut_off):
    figure, drawn = drawn_beside_blimp()
    nothing_cut_off(figure)
    of = drawn.set_index(["series", "x"])["y"]
    assert of["lm"].to_dict() == pytest.approx({"binding": 0.7, "ellipsis": 0.7, "all": 0.7})
    assert of["5-grams"].to_dict() == pytest.approx({"binding": 0.5, "ellipsis": 0.5, "all": 0.5})
    # As the authors' summary has them; all together are the nine sets of both.
    found = {"binding": 0.8094, "ellipsis": 0.8935, "all": (7 * 0.8094 + 2 * 0.8935) / 9}
    assert of["GPT-2"].to_dict() == pytest.approx(found, abs=1e-3)
    assert of["5-gram", "binding"] == pytest.approx(0.6441, abs=1e-3)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:3] == ["LM", "MLM", "5-grams of the training text"]
    assert labels[-1] == "GPT-2, published"
    [axes] = figure.axes
    colors = {line.get_color() for line in axes.get_lines()}
    assert {line.get_color() for line in figure.legends[0].get_lines()[-3:]} <= colors


def test_all_sets_are_the_published_ones():
    _, drawn = drawn_beside_blimp({name: theirs(name) for name in BLIMP["panel"].unique()})
    of = drawn.set_index(["series", "x"])["y"]
    assert of["GPT-2", "all"] == pytest.approx(0.8302, abs=1e-3)
    assert of["LSTM", "all"] == pytest.approx(0.6981, abs=1e-3)


def test_published_values_are_of_the_sets_that_are_asked_about():
    """One set of a phenomenon is beside that set, and not beside the mean of all of them."""
    [one, *_] = theirs("binding")
    _, drawn = drawn_beside_blimp({"binding": [one]})
    of = drawn.set_index(["series", "x"])["y"]
    [published] = BLIMP.query("x == @one and series == 'LSTM'")["y"]
    assert of["LSTM"].to_dict() == {"binding": published, "all": published}


@pytest.mark.parametrize("own", [{"mine": ["a"]}, {"binding": [*theirs("binding"), "a"]}])
def test_pairs_of_ones_own_stand_alone(own):
    """Also those of a phenomenon that is called as one of BLiMP's."""
    _, drawn = drawn_beside_blimp(own)
    assert set(drawn["source"]) == {"ours"} and len(drawn) == 3 * 2
