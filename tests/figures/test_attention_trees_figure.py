from itertools import product

import numpy as np
import pandas as pd
import pytest

from bottomup.figures import attention_trees


def rows():
    values = {"head": 0.4, "mean": 0.3, "model": 0.9}
    return pd.DataFrame(
        {"objective": objective, "seed": seed, "layer": layer, "of": of, "head": 1}
        | {"value": value + layer / 100 + seed / 1000, "ci_low": 0.0, "ci_high": 1.0}
        | {"without": value + np.array([-0.01, 0.0, 0.02]) + layer / 100 + seed / 1000}
        | {"chosen_at": 0.8, "by_place": value / 2 + seed / 1000, "chain": 0.5, "permuted": 0.35}
        | {"n": 400, "n_needed": 100}
        for objective, seed, layer, (of, value) in product(
            ("lm", "untrained"), (1, 2), (2, 1), values.items()
        )
    )


def test_points_are_means_over_runs_of_the_chosen_head_and_the_mean(nothing_cut_off):
    figure, points = attention_trees.draw({"attention_trees": rows()})
    nothing_cut_off(figure)
    drawn = points.set_index(["panel", "series", "x"])
    expected = {("head", 1): 0.4115, ("head", 2): 0.4215, ("mean", 1): 0.3115, ("mean", 2): 0.3215}
    expected |= {("by_place", 1): 0.2015, ("by_place", 2): 0.2015}
    assert drawn["y"].to_dict() == pytest.approx(
        {
            (panel, series, layer): y
            for (panel, layer), y in expected.items()
            for series in ("lm", "untrained")
        }
    )
    assert (points["runs"] == 2).all() and points.query("panel == 'head'")["low"].notna().all()
    for axes in figure.axes:
        levels = [line.get_ydata()[0] for line in axes.get_lines() if line.get_color() == "black"]
        assert levels == pytest.approx([0.5, 0.35])
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
