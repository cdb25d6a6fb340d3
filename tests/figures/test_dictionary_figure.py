import itertools

import pandas as pd
import pytest

from bottomup.figures import dictionary

PAIRS = {("lm", 1, "mlm", 1): 0.1, ("lm", 2, "mlm", 2): 0.3, ("lm", 1, "lm", 2): 0.1}
VALUES = {
    ("share", "only_a"): 1.0,
    ("share", "only_b"): 0.5,
    ("share", "both"): 0.1,
    ("explained", "a"): 4.0,
    ("explained", "b"): 2.0,
    ("imbalance", "all"): 0.25,
    ("dead", "all"): 0.9,
    ("token", "both"): 0.7,
}


def rows():
    return pd.DataFrame(
        dict(zip(["objective_a", "seed_a", "objective_b", "seed_b"], pair, strict=True))
        | {"layer": layer, "measure": measure, "of": of, "value": of_pair * value * layer / 6}
        | {"ci_low": None, "ci_high": None, "n": 10}
        for (pair, of_pair), layer, ((measure, of), value) in itertools.product(
            PAIRS.items(), (6, 3), VALUES.items()
        )
    )


def test_where_nothing_is_active_no_share_is_drawn():
    unknown = rows().assign(value=lambda of: of["value"].where(of["layer"] == 6))
    _, points = dictionary.draw({"dictionary": unknown})
    exclusive = points[points["panel"] == "exclusive"].set_index("x")["y"]
    assert exclusive[3].isna().all() and exclusive[6].notna().all()


def test_points_add_what_one_has_alone_and_average_what_is_explained(nothing_cut_off):
    figure, points = dictionary.draw({"dictionary": rows()})
    nothing_cut_off(figure)
    drawn = points.set_index(["panel", "series", "x"])["y"].sort_index()
    for series, of_pair in (("lm-mlm", 0.2), ("lm-lm", 0.1)):
        for panel, value in (("exclusive", 1.5), ("explained", 3.0), ("imbalance", 0.25)):
            curve = drawn[panel, series]
            assert [*curve.index] == [3, 6]
            assert [*curve] == pytest.approx([of_pair * value / 2, of_pair * value])
    lm_and_mlm = points[(points["panel"] == "exclusive") & (points["series"] == "lm-mlm")]
    assert [*lm_and_mlm.iloc[-1][["low", "high", "runs"]]] == pytest.approx([0.15, 0.45, 2])
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["LM–MLM", "LM, two seeds", "lowest to highest seed"]
