import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgba

from bottomup.core.errors import UserError
from bottomup.figures import probes, style

OBJECTIVES, LAYERS = ("lm", "untrained"), 3


def table(tasks=("tag", "ccg")):
    """Accuracy .5 to .8, a control task at half of it, and a code 2 to 5 times as short."""
    rows = []
    for task, objective, layer in itertools.product(tasks, OBJECTIVES, range(LAYERS)):
        accuracy = 0.5 + 0.1 * layer + 0.05 * (objective == "lm")
        values = {
            "accuracy": (accuracy, 0.3),
            "control_accuracy": (accuracy / 2, 0.3),
            "selectivity": (accuracy / 2, 0.0),
            "code_length_bits": (1000.0, 2000.0),
            "compression": (2.0 + layer, 1.3),
        }
        run = {"objective": objective, "seed": 1, "layer": layer, "task": task}
        rows += [
            {**run, "metric": metric, "value": value, "baseline": baseline}
            | {"ci_low": value - 0.01, "ci_high": value + 0.01, "n": 200, "n_labels": 40}
            | {"without": [value - 0.01, value + 0.01]}
            for metric, (value, baseline) in values.items()
        ]
    return pd.DataFrame(rows)


def test_a_row_of_panels_for_each_task_shows_the_measured_values(nothing_cut_off):
    figure, drawn = probes.draw({"probes": table()})
    assert len(figure.axes) == 2 * 3
    titles = [axes.get_title("left").splitlines()[0] for axes in figure.axes]
    assert titles == 3 * ["part of speech"] + 3 * ["CCG category"]
    assert set(drawn["panel"]) == {
        f"{task}: {metric}"
        for task in ("tag", "ccg")
        for metric in ("accuracy", "selectivity", "compression")
    }
    shown = drawn[(drawn["panel"] == "tag: accuracy") & (drawn["series"] == "lm")]
    assert shown["y"].tolist() == pytest.approx([0.55, 0.65, 0.75])
    assert shown["low"].tolist() == pytest.approx([0.54, 0.64, 0.74])
    assert figure.axes[0].get_ylabel() == "accuracy, share"
    nothing_cut_off(figure)


def test_lines_are_means_over_seeds():
    other = table().assign(seed=2, value=lambda rows: rows["value"] + 0.1)
    _, drawn = probes.draw({"probes": pd.concat([table(), other], ignore_index=True)})
    shown = drawn[(drawn["panel"] == "tag: accuracy") & (drawn["series"] == "lm")]
    assert shown["y"].tolist() == pytest.approx([0.60, 0.70, 0.80])
    assert (drawn["runs"] == 2).all()


def test_the_center_of_gravity_is_marked_on_the_layer_axis(nothing_cut_off):
    """Of accuracy alone, in the color of the objective, and in the points."""
    measured = table()
    centers = measured[(measured["layer"] == 0) & (measured["metric"] == "accuracy")].assign(
        metric="center_of_gravity", layer=np.nan, ci_low=np.nan, ci_high=np.nan, baseline=1.0
    )
    centers["value"] = [1.2, 0.4, 1.9, 0.1]  # of tag: lm, untrained; of ccg
    figure, drawn = probes.draw({"probes": pd.concat([measured, centers])})
    found = drawn[drawn["quantity"].str.startswith("center of gravity")]
    names = [f"{task}: center_of_gravity" for task in ("tag", "tag", "ccg", "ccg")]
    assert found["panel"].tolist() == names
    assert found["series"].tolist() == [*OBJECTIVES, *OBJECTIVES]
    assert found["y"].tolist() == [1.2, 0.4, 1.9, 0.1]
    assert found[["x", "low", "high"]].isna().all(axis=None)
    marks = [[c for c in axes.collections if isinstance(c, PathCollection)] for axes in figure.axes]
    assert [len(of_panel) for of_panel in marks] == [1, 0, 0, 1, 0, 0]
    colors = [to_rgba(style.objective(name).color) for name in OBJECTIVES]
    for [mark], values in ((marks[0], [1.2, 0.4]), (marks[3], [1.9, 0.1])):
        assert mark.get_offsets().tolist() == [[value, 0] for value in values]
        assert mark.get_edgecolors().tolist() == [list(color) for color in colors]
        assert not len(mark.get_facecolors()) and np.ptp(mark.get_sizes()) > 0, "none hides another"
    assert found["quantity"].iloc[0] in [text.get_text() for text in figure.legends[0].texts]
    nothing_cut_off(figure)


def test_a_task_that_was_not_measured_is_not_drawn():
    figure, _ = probes.draw({"probes": table(tasks=("relation",))})
    assert [axes.get_title("left").splitlines()[0] for axes in figure.axes] == 3 * [
        "dependency relation"
    ]


def test_without_rows_it_ends_in_one_line():
    nothing = table()[lambda rows: rows["metric"] == "code_length_bits"]
    with pytest.raises(UserError, match="no rows with metric accuracy") as error:
        probes.draw({"probes": nothing})
    assert "\n" not in str(error.value)
