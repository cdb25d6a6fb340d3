import itertools

import numpy as np
import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.figures import edge_probes
from bottomup.measures.edge_probes import METRICS, TASKS
from tests.figures.conftest import ALSO_UNKNOWN

OBJECTIVES = ("lm", "untrained")


def table(layers=3, objectives=OBJECTIVES, tasks=TASKS, by_tags=0.55):
    """Accuracies that rise with the layer; untrained models have no expected layer."""
    rows = []
    for task, objective in itertools.product(tasks, objectives):
        run = {"objective": objective, "seed": 1, "task": task, "n": 800, "n_needed": 100}
        run |= {"n_labels": 2 if task == "arc" else 14}
        for layer, metric in itertools.product(range(layers), METRICS):
            value = 0.4 + 0.05 * layer + 0.1 * (objective == "lm") - 0.01 * METRICS.index(metric)
            known = {"by_tags": by_tags if metric == "accuracy" else np.nan, "baseline": 0.125}
            interval = {"value": value, "ci_low": value - 0.02, "ci_high": value + 0.03}
            rows.append({**run, "layer": layer, "metric": metric, **interval, **known})
        of = 1 + 0.2 * TASKS.index(task) if objective == "lm" else np.nan
        interval = {"value": of, "ci_low": of - 0.1, "ci_high": of + 0.4}
        rows.append({**run, "metric": "expected_layer", **interval})
    return pd.DataFrame(rows)


def test_points_are_accuracies_and_expected_layers(nothing_cut_off):
    measured = table()
    figure, drawn = edge_probes.draw({"edge_probes": measured.sample(frac=1)})
    nothing_cut_off(figure)
    assert {*drawn["panel"]} == {*TASKS, "expected layer"}
    for (task, objective), part in drawn.groupby(["panel", "series"]):
        rows = measured.query(f"task == '{task}' and objective == '{objective}'")
        if task == "expected layer":
            assert objective == "lm"
            rows = measured.query("metric == 'expected_layer' and objective == 'lm'")
            rows = rows.assign(layer=range(5))  # tasks, one beside the next
        rows = rows[rows["metric"].isin(["accuracy", "expected_layer"])].dropna(subset=["layer"])
        found = part[["x", "y", "low", "high", "n"]].to_numpy(float)
        expected = rows[["layer", "value", "ci_low", "ci_high", "n"]].to_numpy(float)
        np.testing.assert_allclose(found, expected)
    titles = [axes.get_title("left") for axes in figure.axes]
    assert titles[1].splitlines()[1] == "800 examples, 2 labels; nothing seen: 0.12"
    assert titles[5].startswith("expected layer")


def test_each_panel_says_what_tags_alone_tell():
    figure, _ = edge_probes.draw({"edge_probes": table()})
    for axes in figure.axes[:5]:
        texts = [text.get_text().replace("\n", " ") for text in axes.texts]
        assert texts == ["by tags = 0.55"]
    assert not figure.axes[5].texts


@pytest.mark.parametrize("has_rows", [True, False])
def test_a_task_without_values_is_said_to_have_none(has_rows):
    measured, values = table(), ["value", "ci_low", "ci_high", "baseline", "by_tags"]
    measured.loc[measured["task"] == TASKS[0], values] = np.nan
    shown = measured if has_rows else measured[measured["task"] != TASKS[0]]
    figure, drawn = edge_probes.draw({"edge_probes": shown})
    assert {*drawn["panel"]} == {*TASKS[1:], "expected layer"}
    empty, *others = figure.axes
    assert "not measured" in empty.texts[0].get_text() and len(empty.texts) == 1
    assert empty.get_title("left") == "relation of a word to its head"
    assert not any("not measured" in text.get_text() for axes in others for text in axes.texts)


def test_the_expected_layer_of_no_model():
    figure, drawn = edge_probes.draw({"edge_probes": table(objectives=["untrained"])})
    assert "expected layer" not in {*drawn["panel"]}
    assert "not measured" in figure.axes[5].texts[0].get_text()


@pytest.mark.parametrize("layers", [1, 13])
def test_other_depths_and_objectives(layers, require_others):
    figure, drawn = edge_probes.draw({"edge_probes": table(layers, ALSO_UNKNOWN)})
    require_others(figure, drawn, "95 % interval, documents (one run)")


def test_no_rows_of_what_is_shown():
    with pytest.raises(UserError, match="accuracy; found metric selectivity") as raised:
        edge_probes.draw({"edge_probes": table().query("metric == 'selectivity'")})
    assert "\n" not in str(raised.value)
