"""Means over runs and documents, and differences in pairs: by hand, from three runs."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from bottomup.core.errors import UserError
from bottomup.figures.means import less, over_runs, since_layer_0
from bottomup.measures.jackknife import ANY, UNIT

NONE = float("nan")


def runs(values, apart=(-2.0, -1.0, 3.0), **columns):
    """Rows of three runs at a place, without a block so far apart: of no documents' interval."""
    rows = pd.DataFrame({"series": "lm", "seed": [1, 2, 3], "x": 1, "value": values})
    without = [value + np.array(apart) for value in values]
    return rows.assign(ci_low=NONE, ci_high=NONE, without=without, **columns)


def test_the_interval_of_a_mean_is_over_runs_and_documents():
    [row] = over_runs(runs([1.0, 3.0, 8.0], n=[7, 5, 9]), ["series", "x"], ANY).itertuples()
    # Of documents 2 / 3 * (4 + 1 + 9), of three runs a third of 13, each with two degrees of
    # freedom; the envelope of the runs would be another.
    text, of_runs = 28 / 3, 13 / 3
    df = (text + of_runs) ** 2 / (text**2 / 2 + of_runs**2 / 2)
    half_width = student.ppf(0.975, df) * np.sqrt(text + of_runs)
    assert (row.series, row.x, row.y, row.runs, row.n) == ("lm", 1, 4, 3, 5)
    assert (row.low, row.high) == (pytest.approx(4 - half_width), pytest.approx(4 + half_width))


def test_of_one_run_it_is_its_own_over_documents():
    one = runs([1.0, 3.0, 8.0]).assign(ci_low=[0.5, 2.5, 7.5], ci_high=[1.5, 3.9, 8.5])
    [row] = over_runs(one[one["seed"] == 2], ["series", "x"], UNIT).itertuples()
    assert (row.y, row.low, row.high, row.runs) == (3, 2.5, 3.9, 1)


def test_a_run_without_a_value_says_nothing():
    [row] = over_runs(runs([1.0, NONE, 8.0]), ["series", "x"], ANY).itertuples()
    assert (row.y, row.runs) == (4.5, 2)


def test_several_values_of_one_run_are_no_runs():
    """As of a table with two quantities, of which none was chosen."""
    both = pd.concat([runs([1.0, 3.0, 8.0]), runs([5.0, 6.0, 7.0])])
    both.insert(2, "quantity", ["mean"] * 3 + ["spread"] * 3)
    with pytest.raises(UserError, match=r"^several values of one run that differ in quantity;"):
        over_runs(both, ["series", "x"], ANY)
    assert over_runs(both, ["series", "x", "quantity"], ANY)["y"].tolist() == [4, 6]


def test_pairs_of_two_seeds_alone_have_the_interval_of_documents():
    pairs = runs([1.0, 3.0, 8.0]).head(2).drop(columns="seed").assign(seed_a=[1, 2], seed_b=[2, 1])
    [row] = over_runs(pairs, ["series", "x"], ANY).itertuples()
    half_width = student.ppf(0.975, 2) * np.sqrt(28 / 3)
    assert (row.y, row.runs) == (2, 1)
    assert row.high == pytest.approx(2 + half_width)


def test_differences_are_taken_block_by_block():
    # What both share without a block cancels: -2, -1, 3 less -2, -1.5, 2, so 0, 0.5, 1.
    first, second = runs([1.0, 3.0, 8.0]), runs([0.0, 3.0, 4.0], apart=(-2.0, -1.5, 2.0))
    found = less(first.assign(noise=3.0), second.assign(noise=4.0), ["x", "seed"], ANY)
    assert found["value"].tolist() == [1, 0, 4] and found["noise"].tolist() == [5, 5, 5]
    assert np.stack(found["without"]).tolist() == [[1, 1.5, 2], [0, 0.5, 1], [4, 4.5, 5]]
    assert (found["ci_low"] < found["value"]).all() and (found["value"] < found["ci_high"]).all()
    assert "noise" in less(first, second, ["x", "seed"], ANY)


def test_a_difference_of_shares_stays_between_minus_1_and_1():
    first, second = runs([0.99, 0.5, 0.01], (-0.03, 0.0, 0.01)), runs([0.01, 0.2, 0.99], (0, 0, 0))
    found = less(first, second, ["x", "seed"], UNIT)
    assert ((found["ci_low"] >= -1) & (found["ci_high"] <= 1)).all()
    assert (found["ci_low"] < found["value"]).all() and (found["value"] < found["ci_high"]).all()


def test_equal_values_differ_by_nothing_and_have_no_interval():
    found = less(runs([1.0, 3.0, 8.0]), runs([0.0, 2.0, 7.0]), ["x", "seed"], ANY)
    assert found["value"].tolist() == [1, 1, 1]
    assert found[["ci_low", "ci_high"]].isna().all(axis=None)


def test_change_is_taken_within_each_run():
    layers = pd.concat([runs([1.0, 3.0, 8.0]).assign(x=0), runs([0.5, 3.0, 6.0], (-1.0, 0.0, 1.0))])
    found = since_layer_0(layers.assign(noise=1.0), ["series"])
    assert found["value"].tolist() == [0, 0, 0, -0.5, 0, -2]
    assert found["noise"].tolist() == pytest.approx([0, 0, 0, *[np.sqrt(2)] * 3])
    assert over_runs(found, ["series", "x"], ANY)["low"].isna().tolist() == [True, False]
