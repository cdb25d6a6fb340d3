from itertools import product

import numpy as np
import pandas as pd
import pytest

from bottomup.figures import head_distances

PAIRS = [
    *[("lm", 1, "lm", 1), ("mlm", 1, "mlm", 1)],
    *[("lm", 1, "lm", 2), ("lm", 1, "lm", 3), ("lm", 2, "lm", 3), ("lm", 1, "mlm", 1)],
]
# Of the first head and the second.
VALUES = {
    ("layer", "mean"): (0.3, 0.5),
    ("layer", "nearest"): (0.1, 0.2),
    ("layer", "nearest_by_place"): (0.2, 0.3),
    ("other_layers", "mean"): (0.4, 0.6),
    ("other_layers", "nearest"): (0.2, 0.3),
    ("other_layers", "nearest_by_place"): (0.3, 0.3),
}


def rows(pairs=PAIRS):
    """Each pair is a hundredth further apart than the one before it."""
    runs = ["objective_a", "seed_a", "objective_b", "seed_b"]
    without = np.array([-0.01, 0.0, 0.02])
    return pd.DataFrame(
        dict(zip(runs, pair, strict=True))
        | {"layer": layer, "head": head + 1, "among": among, "quantity": quantity}
        | {"value": values[head] + 0.01 * place, "n": 99 if "place" in quantity else 120}
        | {"ci_low": 0.0, "ci_high": 1.0, "without": values[head] + 0.01 * place + without}
        for (place, pair), layer, ((among, quantity), values), head in product(
            enumerate(pairs), (2, 1), VALUES.items(), (1, 0)
        )
    )


def test_points_are_means_over_heads_and_pairs_of_runs(nothing_cut_off):
    figure, points = head_distances.draw({"head_distances": rows()})
    nothing_cut_off(figure)
    drawn = points.set_index(["panel", "series", "x"]).sort_index()
    assert drawn.index.is_unique and set(points["x"]) == {1, 2}
    for panel, series, y in [
        *[("one mean", "lm", 0.4), ("one mean", "mlm", 0.41), ("one mean_others", "lm", 0.5)],
        *[("one nearest", "lm", 0.15), ("two mean", "lm-mlm", 0.45)],
        # Seeds 1 and 2, 1 and 3, 2 and 3: the third is in the middle.
        *[("two nearest", "lm-lm", 0.18), ("two nearest", "lm-mlm", 0.2)],
        ("two beyond_place", "lm-mlm", 1 - 0.2 / 0.3),
        ("two beyond_place", "lm-lm", 1 - np.mean([0.17 / 0.27, 0.18 / 0.28, 0.19 / 0.29])),
    ]:
        assert drawn.loc[(panel, series), "y"].tolist() == pytest.approx([y, y]), (panel, series)
    assert (drawn.loc["two mean", "runs"]["lm-lm"] == 3).all()
    assert set(drawn.loc["one mean"].index.get_level_values(0)) == {"lm", "mlm"}
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert len(titles) == 6 and all(title.startswith("one") for title in titles[:3])
    assert len({axes.get_ylim() for axes in figure.axes[:5]}) == 1, "one unit, one axis"
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:4] == ["LM", "MLM", "LM–MLM", "LM, two seeds"]


def test_without_pairs_one_row_and_without_other_layers_a_panel_that_says_so():
    alone = rows(PAIRS[:2])
    figure, points = head_distances.draw({"head_distances": alone})
    assert len(figure.axes) == 3 and not points["series"].str.contains("-").any()
    one_layer = alone[(alone["layer"] == 1) & (alone["among"] == "layer")]
    figure, points = head_distances.draw({"head_distances": one_layer})
    assert figure.axes[1].texts[0].get_text().startswith("not measured")
    assert {*points["panel"]} == {"one mean", "one nearest"}


def test_a_model_of_one_head_a_layer_has_none_beside_it(nothing_cut_off):
    found = rows()
    alone = (found["objective_a"] == found["objective_b"]) & (found["seed_a"] == found["seed_b"])
    figure, points = head_distances.draw(
        {"head_distances": found[~alone | (found["among"] == "other_layers")]}
    )
    nothing_cut_off(figure)
    panels = set(points["panel"])
    assert "one mean_others" in panels and not {"one mean", "one nearest"} & panels
