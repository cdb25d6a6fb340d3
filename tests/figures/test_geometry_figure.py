import numpy as np
import pandas as pd
import pytest

from bottomup.figures import geometry, style
from bottomup.figures.geometry import MEASURES, NULL

HIGHEST = {"matrix_entropy": 1, "curvature_degrees": 180}


@pytest.mark.parametrize("measure", MEASURES)
def test_points_are_the_table_over_relative_depth(study, measure, of_two_runs):
    tables = study()
    _, points = geometry.draw(tables)
    rows = tables["geometry"].query(f"measure == '{measure}'")
    panel = points[points["panel"] == measure]
    assert set(panel["series"]) == {"lm", "mlm", "mt", "untrained"}
    for objective, of in rows.groupby("objective"):
        mine = panel[panel["series"] == objective]
        drawn = mine[mine["quantity"] != NULL].set_index("x")
        assert [*drawn.index] == pytest.approx(np.arange(7) / 6)
        by_layer = of.groupby("layer")
        assert [*drawn["y"]] == pytest.approx([*by_layer["value"].mean()])
        assert (drawn["n"] == of["n"].iloc[0]).all() and (drawn["runs"] == 2).all()
        for (_, runs), (_, point) in zip(by_layer["value"], drawn.iterrows(), strict=True):
            found = point["low"], point["high"]
            assert found == of_two_runs(runs, high=HIGHEST.get(measure, np.inf))
        null = mine[mine["quantity"] == NULL]
        assert [*null["x"]] == [*drawn.index]
        assert [*null["y"]] == pytest.approx([*by_layer["null"].mean()])
        assert null[["low", "high"]].isna().all(axis=None)


def test_a_panel_for_each_measure_with_its_nulls_behind(study, nothing_cut_off):
    figure, points = geometry.draw(study())
    nothing_cut_off(figure)
    assert [*points["panel"].unique()] == [*MEASURES]
    assert [axes.get_ylabel() for axes in figure.axes] == [label for label, _ in MEASURES.values()]
    assert [axes.get_yscale() for axes in figure.axes] == ["linear", "linear", "log", "linear"]
    for axes, measure in zip(figure.axes, MEASURES, strict=True):
        nulls = points[(points["panel"] == measure) & (points["quantity"] == NULL)]
        for series, null in nulls.groupby("series"):
            color = style.light(style.objective(series).color)
            [line] = [line for line in axes.get_lines() if line.get_color() == color]
            assert [*line.get_ydata()] == [*null["y"]]
            assert line.get_zorder() < min(
                other.get_zorder() for other in axes.get_lines() if other.get_marker() != "None"
            )
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [
        *("MT", "LM", "MLM", "untrained"),
        *("95 % interval, runs and documents", "null of each (light)"),
    ]


def test_models_of_other_depths_stand_side_by_side(study):
    deep, flat = (study(layers=layers, objectives=("lm",))["geometry"] for layers in (12, 2))
    both = pd.concat([deep, flat.assign(objective="electra")], ignore_index=True)
    figure, points = geometry.draw({"geometry": both})
    values = points[(points["panel"] == "effective_rank") & (points["quantity"] != NULL)]
    places = values.groupby("series")["x"].apply(list)
    assert places["electra"] == [0, 0.5, 1]
    assert places["lm"] == pytest.approx(np.arange(13) / 12)
    figure.draw_without_rendering()


def test_an_interval_of_many_orders_of_magnitude_leaves_room_for_the_values(study):
    table = study(seeds=(1,))["geometry"]
    [first, *_] = np.flatnonzero(table["measure"] == "intrinsic_dimension")
    table.loc[first, ["ci_low", "ci_high"]] = 1e-49, 1e47
    figure, points = geometry.draw({"geometry": table})
    values = points.loc[points["panel"] == "intrinsic_dimension", "y"]
    low, high = figure.axes[2].get_ylim()
    assert values.min() / 10 <= low < values.min() and values.max() < high <= 10 * values.max()
    assert points["high"].max() == 1e47, "the table of points has all of it"


def test_a_measure_that_has_no_value_leaves_its_panel_with_a_note(study):
    table = study(layers=1, seeds=(1,))["geometry"]
    none = table["measure"] == "intrinsic_dimension"
    columns = ["value", "null", "ci_low", "ci_high"]
    table.loc[none, columns] = np.nan
    figure, points = geometry.draw({"geometry": table})
    assert "intrinsic_dimension" not in set(points["panel"])
    assert [text.get_text() for text in figure.axes[2].texts] == [style.NO_VALUES]
    figure.draw_without_rendering()
