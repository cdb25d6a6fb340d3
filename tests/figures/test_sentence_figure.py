from itertools import product

import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from bottomup.core.errors import UserError
from bottomup.figures import sentence

WORDS = ["the", "file", "the"]


def table(objectives=("lm", "mt", "untrained_causal"), layers=2):
    """Cosines that say where they are from."""
    rows = [
        {
            **{"objective": objective, "seed": 1, "layer": layer},
            **{"place_a": a, "word_a": WORDS[a], "place_b": b, "word_b": WORDS[b]},
            "cosine": 1 if a == b else (a + b) / 10 - layer / 2,
        }
        for objective, layer in product(objectives, range(layers + 1))
        for a, b in product(range(3), repeat=2)
    ]
    return {"sentence": pd.DataFrame(rows)}


def test_the_bottom_and_the_top_layer_of_each_model_are_its_points():
    _, drawn = sentence.draw(table())
    assert drawn["panel"].unique().tolist() == [
        f"{name}, layer {layer}" for name in ("lm", "mt", "untrained_causal") for layer in (0, 2)
    ]
    one = drawn[drawn["panel"] == "mt, layer 2"].set_index(["series", "x"])["y"]
    assert len(one) == 9
    assert one["1 the", "2 file"] == pytest.approx(0.1 - 1)
    assert one["2 file", "3 the"] == pytest.approx(0.3 - 1)
    assert one["3 the", "3 the"] == 1


def test_models_stand_side_by_side_with_the_bottom_above_the_top():
    figure, _ = sentence.draw(table())
    maps = [axes for axes in figure.axes if axes.images]
    titles = [axes.get_title("left") for axes in maps]
    assert titles == [
        *("MT\nlayer 0", "LM\nlayer 0", "untrained,\ncausal mask\nlayer 0"),
        *["layer 2"] * 3,
    ]
    # Its first word is on top, and the words stand once at each edge.
    left = [[label.get_text() for label in axes.get_yticklabels()] for axes in maps]
    assert left == [WORDS, [""] * 3, [""] * 3] * 2
    below = [[label.get_text() for label in axes.get_xticklabels()] for axes in maps]
    assert below == [[""] * 3] * 3 + [WORDS] * 3
    [image] = maps[3].images
    assert image.get_array()[0, 1] == pytest.approx(0.1 - 1) and image.origin == "upper"


def test_white_is_zero_and_both_ends_are_one():
    shade = sentence.SHADES(sentence.NORM(0.0))
    assert min(to_rgb(shade)) > 0.95
    assert (sentence.NORM.vmin, sentence.NORM.vmax) == (-1, 1)


def test_more_models_than_fit_into_a_row_go_below():
    names = ("lm", "mt", "mlm", "untrained", "bert", "gpt2")
    figure, drawn = sentence.draw(table(names))
    assert len([axes for axes in figure.axes if axes.images]) == 12
    assert drawn["panel"].nunique() == 12
    figure.draw_without_rendering()


def test_models_of_other_depths_show_their_own_top():
    rows = pd.concat([table(("lm",))["sentence"], table(("bert",), layers=4)["sentence"]])
    _, drawn = sentence.draw({"sentence": rows})
    assert set(drawn["panel"]) == {f"lm, layer {n}" for n in (0, 2)} | {
        f"bert, layer {n}" for n in (0, 4)
    }


def test_a_table_without_cosines_is_refused():
    with pytest.raises(UserError, match="has no column cosine"):
        sentence.draw({"sentence": table()["sentence"].drop(columns="cosine")})
