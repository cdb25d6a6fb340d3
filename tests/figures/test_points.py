from importlib import import_module

import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.figures.points import (
    COLUMNS,
    NoRowsError,
    having,
    join,
    over_seeds,
    points,
    table,
)
from bottomup.plan.study import tables
from bottomup.published import CURVES, load_published

NONE = float("nan")
SEEDS = pd.DataFrame(
    {"series": ["lm"] * 4, "seed": [1, 2, 1, 2], "x": [0, 0, 1, 1], "value": [5.0, 4.0, 3.0, 3.5]}
)


def test_over_seeds_is_the_mean_and_the_range():
    summary = over_seeds(SEEDS, "value", ["series", "x"])
    assert summary["y"].tolist() == [4.5, 3.25]
    assert summary["low"].tolist() == [4.0, 3.0]
    assert summary["high"].tolist() == [5.0, 3.5]


def test_over_three_seeds_it_is_not_the_median():
    values = SEEDS.assign(seed=[1, 2, 3, 1], x=[0, 0, 0, 1], value=[1.0, 2.0, 6.0, 3.0])
    assert over_seeds(values, "value", ["series", "x"])["y"].tolist() == [3.0, 3.0]


def test_one_seed_has_no_range():
    summary = over_seeds(SEEDS[SEEDS["seed"] == 1], "value", ["series", "x"])
    assert summary["y"].tolist() == [5.0, 3.0]
    assert summary[["low", "high"]].isna().all(axis=None)


def test_points_have_the_same_columns_and_keep_their_order():
    first, second = points(SEEDS, "ours"), points(SEEDS.head(0), "published")
    joined = join([first, second, first])
    assert list(joined) == COLUMNS
    assert joined["x"].tolist() == [0, 0, 1, 1] * 2


@pytest.mark.parametrize("path", sorted(CURVES.glob("*.csv")), ids=lambda path: path.stem)
def test_published_curves_are_tidy(path):
    curves = load_published(path.stem)
    assert {"panel", "series", "x", "y", "y_uncertainty"} <= set(curves)
    assert (curves["figure"] == path.stem).all()
    assert f"`{path.name}`" in (CURVES / "README.md").read_text()


def test_unknown_published_curves():
    with pytest.raises(UserError, match=r"'ib_mi'.*ib_mi_tasks"):
        load_published("ib_mi")


def test_missing_table_column_and_rows():
    with pytest.raises(UserError, match="'measures' is missing; found other"):
        table({"other": SEEDS}, "measures", ["seed"])
    with pytest.raises(UserError, match="no column layer"):
        table({"measures": SEEDS}, "measures", ["seed", "layer"])
    with pytest.raises(UserError, match="no rows"):
        table({"measures": SEEDS.head(0)}, "measures", ["seed"])
    # As of a measure that yields none; it ends no study.
    with pytest.raises(NoRowsError, match="no rows"):
        table({"measures": pd.DataFrame(columns=["seed"])}, "measures", ["seed", "layer"])


def test_rows_that_have_what_is_wanted_or_a_line_about_what_there_is():
    rows = SEEDS.assign(metric=["a", "b", "b", "c"])
    assert having(rows, "t", seed=2, metric=["b", "c"])["value"].tolist() == [4.0, 3.5]
    said = "table t has no rows with metric a, seed 2 or 3; found seed 1$"
    with pytest.raises(NoRowsError, match=said):
        having(rows, "t", metric="a", seed=[2, 3])


@pytest.mark.parametrize("name", [n for n, of in tables().items() if of.TABLE.category])
def test_a_figure_without_its_table_or_its_rows_says_so_in_a_line(name):
    module = import_module(f"bottomup.figures.{name}")
    empty = pd.DataFrame(columns=module.NEEDED)
    for given, said in (({}, "is missing"), ({name: empty}, "has no rows")):
        with pytest.raises(UserError, match=f"table '{name}' {said}") as raised:
            module.draw(given)
        assert "\n" not in str(raised.value)
