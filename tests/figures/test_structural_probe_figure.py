import itertools

import numpy as np
import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.figures import structural_probe
from tests.figures.conftest import ALSO_UNKNOWN

OBJECTIVES = ("lm", "untrained")
METRICS = ("uuas", "distance_spearman", "root_accuracy", "depth_spearman", "rank")


def table(layers=3, objectives=OBJECTIVES, chain=0.52):
    """Shares that rise with the layer; `rank` has neither intervals nor controls."""
    rows = []
    for objective, layer, metric in itertools.product(objectives, range(layers), METRICS):
        known = np.nan if metric == "rank" else 1.0
        value = 0.3 + 0.05 * layer + 0.1 * (objective == "lm") + 0.01 * METRICS.index(metric)
        row = {"objective": objective, "seed": 1, "layer": layer, "metric": metric, "value": value}
        row |= {"ci_low": known * (value - 0.02), "ci_high": known * (value + 0.03)}
        row |= {"without": [value - 0.01, value + 0.01]}
        row |= {"chain": known * chain, "permuted": known * 0.36, "n": 400, "n_needed": 100}
        rows.append(row)
    return pd.DataFrame(rows)


def test_points_are_the_edges_and_roots_of_the_table(nothing_cut_off):
    measured = table()
    figure, drawn = structural_probe.draw({"structural_probe": measured.sample(frac=1)})
    nothing_cut_off(figure)
    assert set(drawn["panel"]) == {"uuas", "root_accuracy"} and len(drawn) == 2 * 2 * 3
    for (metric, objective), part in drawn.groupby(["panel", "series"]):
        rows = measured.query(f"metric == '{metric}' and objective == '{objective}'")
        found = part[["x", "y", "low", "high", "n"]].to_numpy(float)
        expected = rows[["layer", "value", "ci_low", "ci_high", "n"]].to_numpy(float)
        np.testing.assert_allclose(found, expected)
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["edges found (UUAS), share", "roots found, share"]
    assert [axes.get_title("left") for axes in figure.axes] == ["400 sentences"] * 2


def test_lines_are_means_over_seeds():
    other = table().assign(seed=2, value=lambda rows: rows["value"] + 0.1)
    both = pd.concat([table(), other], ignore_index=True)
    order = ["panel", "series", "x"]
    drawn, first = (
        structural_probe.draw({"structural_probe": rows})[1].sort_values(order, ignore_index=True)
        for rows in (both, table())
    )
    np.testing.assert_allclose(drawn["y"], first["y"] + 0.05)
    assert (drawn["runs"] == 2).all() and (first["runs"] == 1).all()
    assert (drawn["high"] - drawn["low"] > first["high"] - first["low"]).all()


def test_what_needs_no_model_is_a_line_across_each_panel():
    figure, _ = structural_probe.draw({"structural_probe": table()})
    for axes in figure.axes:
        texts = [text.get_text().replace("\n", " ") for text in axes.texts]
        assert texts == ["chain = 0.52", "other tree = 0.36"]
        assert axes.get_ylim()[0] < 0.36 and axes.get_ylim()[1] > 0.52
    alone = table().assign(permuted=np.nan)  # no two sentences of one length
    figure, _ = structural_probe.draw({"structural_probe": alone})
    assert [len(axes.texts) for axes in figure.axes] == [1, 1]


@pytest.mark.parametrize("layers", [1, 13])
def test_other_depths_and_objectives(layers, require_others):
    figure, drawn = structural_probe.draw({"structural_probe": table(layers, ALSO_UNKNOWN)})
    require_others(figure, drawn, "95 % interval, documents (one run)")


def test_no_rows_of_what_is_shown():
    with pytest.raises(UserError, match="no rows with metric uuas or root_accuracy; ") as raised:
        structural_probe.draw({"structural_probe": table().query("metric == 'rank'")})
    assert "\n" not in str(raised.value)
