"""Our curves beside the published ones, and their rank correlations."""

import math

import pandas as pd
import pytest

from bottomup.claims import comparison

COLUMNS = ["figure", "panel", "series", "quantity", "x", "y", "low", "high", "source"]


def points(source, series, ys, figure="f", panel="p", quantity="q", first=0):
    rows = [
        (figure, panel, series, quantity, str(x), y, y - 1, y + 1, source)
        for x, y in enumerate(ys, first)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def test_only_curves_that_both_have_with_all_their_points():
    table = comparison.beside(
        pd.concat(
            [
                points("ours", "lm", [5.0, 6.0, 7.0]),
                points("ours", "untrained", [1.0, 1.0, 1.0]),
                points("ours", "lm", [0.5, 0.5, 0.5], quantity="chance"),
                points("published", "lm", [2.0, 3.0, 4.0], first=1),
                points("published", "mlm", [2.0, 3.0, 4.0]),
            ]
        )
    )
    assert list(table) == comparison.COLUMNS
    assert table["series"].unique().tolist() == ["lm"]
    assert table["x"].tolist() == ["0", "1", "2", "3"]
    assert table["ours"].fillna(-1).tolist() == [5, 6, 7, -1]
    assert table["low"].fillna(-1).tolist() == [4, 5, 6, -1]
    assert table["published"].fillna(-1).tolist() == [-1, 2, 3, 4]


def test_curves_of_one_name_in_two_panels_or_figures_are_two():
    table = comparison.beside(
        pd.concat(
            [
                points(source, "lm", ys, figure=figure, panel=panel)
                for source, ys in (("ours", [1, 2, 3]), ("published", [3, 5, 4]))
                for figure, panel in (("f", "a"), ("f", "b"), ("g", "a"))
            ]
        )
    )
    assert len(table) == 9
    assert len(comparison.correlate(table)) == 3


def test_two_quantities_of_one_curve_are_two():
    """A distance that rises, and how much further apart others are, which falls."""
    both = [
        points(source, "lm-mt", ys, quantity=quantity)
        for quantity, ys in (("distance", [0.4, 0.5, 0.6]), ("further", [0.03, 0.02, 0.01]))
        for source in ("ours", "published")
    ]
    both[0]["y"] = [0.6, 0.5, 0.4]
    table = comparison.correlate(comparison.beside(pd.concat(both)))
    assert table["quantity"].tolist() == ["distance", "further"]
    assert table["rank_correlation"].tolist() == pytest.approx([-1, 1])
    assert table["n_points"].tolist() == [3, 3]


def test_places_have_the_order_of_the_figure():
    """Not that of text, by which 10-11 comes after 1-2."""
    steps = [f"{n}-{n + 1}" for n in range(12)]
    ours, theirs = (points(source, "lm", [*range(12)]) for source in ("ours", "published"))
    table = comparison.beside(pd.concat([ours.assign(x=steps), theirs.assign(x=steps)]))
    assert table["x"].tolist() == steps
    assert table["ours"].tolist() == table["published"].tolist() == [*range(12)]


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ([1, 2, 30, 40], [5, 6, 7, 8], 1),
        ([4, 3, 2, 1], [5, 6, 7, 8], -1),
        # 1 - 6 (0 + 0 + 1 + 1) / (4 * 15)
        ([1, 2, 4, 3], [5, 6, 7, 8], 0.8),
        ([1, 1, 1, 1], [5, 6, 7, 8], math.nan),
        ([1, 2], [5, 6], math.nan),
    ],
)
def test_rank_correlation(ours, theirs, expected, recwarn):
    table = comparison.beside(
        pd.concat([points("ours", "lm", ours), points("published", "lm", theirs)])
    )
    row = comparison.correlate(table).iloc[0]
    assert row["rank_correlation"] == pytest.approx(expected, nan_ok=True)
    assert row["n_points"] == len(ours)
    assert not recwarn.list


@pytest.mark.parametrize("places", ["{}", "{}-{}", "{}.0"])
@pytest.mark.parametrize("n", [3, 12])
def test_models_of_another_depth_have_no_correlation(n, places):
    """A deeper model's lower half would be compared with all of the published one."""
    ours, theirs = points("ours", "lm", [*range(n)]), points("published", "lm", [*range(6)])
    both = pd.concat([ours, theirs])
    both["x"] = [places.format(x, int(x) + 1) for x in both["x"]]
    row = comparison.correlate(comparison.beside(both)).iloc[0]
    assert math.isnan(row["rank_correlation"]) and row["n_points"] == min(n, 6)


def test_places_that_are_no_layers_are_compared_where_both_have_them():
    words = ["s-v", "v-o", "n-a", "a-v"]
    ours = points("ours", "lm", [1, 2, 3, 4]).assign(x=words)
    theirs = points("published", "lm", [1, 2, 3]).assign(x=words[:3])
    row = comparison.correlate(comparison.beside(pd.concat([ours, theirs]))).iloc[0]
    assert row["rank_correlation"] == 1 and row["n_points"] == 3


def test_nothing_published_is_nothing_compared():
    table = comparison.beside(points("ours", "lm", [1, 2, 3]))
    assert table.empty and list(table) == comparison.COLUMNS
    assert comparison.correlate(table).empty
