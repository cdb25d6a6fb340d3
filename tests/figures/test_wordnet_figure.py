from itertools import product

import pandas as pd
import pytest

from bottomup.figures import wordnet


def table():
    rows = []
    for (place, objective), seed, layer, (name, base) in product(
        enumerate(["lm", "mlm"]), (1, 2), range(3), (("nearest", 0.1), ("pairs", 0.6))
    ):
        value = base + 0.1 * place + 0.02 * layer + 0.004 * seed
        about = {"objective": objective, "seed": seed, "layer": layer, "property": name, "n": 40}
        ends = {"value": value, "ci_low": value - 0.05, "ci_high": value + 0.05}
        rows.append(about | ends | {"without": [value - 0.01, value + 0.01]})
    return pd.DataFrame(rows).sample(frac=1, random_state=1)


def test_points_are_the_means_over_runs_by_layer(nothing_cut_off):
    figure, drawn = wordnet.draw({"wordnet": table()})
    nothing_cut_off(figure)
    of = drawn.set_index(["panel", "series", "x"])["y"].sort_index()
    assert of["nearest", "lm"].to_dict() == pytest.approx({0: 0.106, 1: 0.126, 2: 0.146})
    assert of["pairs", "mlm"].to_dict() == pytest.approx({0: 0.706, 1: 0.726, 2: 0.746})
    for axes, chance in zip(figure.axes, (0, 0.5), strict=True):
        assert set(axes.get_lines()[0].get_ydata()) == {chance}
        assert axes.get_title(loc="left").endswith("\n40 words")
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["LM", "MLM", "95 % interval, runs and words"]


def test_the_legend_says_that_there_is_one_run():
    one = table().query("seed == 1")
    figure, _ = wordnet.draw({"wordnet": one})
    assert figure.legends[0].get_texts()[-1].get_text() == "95 % interval, words (one run)"
    figure, _ = wordnet.draw({"wordnet": one.assign(ci_low=float("nan"), ci_high=float("nan"))})
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["LM", "MLM"]
