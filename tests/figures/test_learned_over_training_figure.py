"""What is learned over training: by hand, of two seeds at two steps and at the end."""

import numpy as np
import pandas as pd
import pytest

from bottomup.figures import learned_over_training as figure_of
from bottomup.figures.points import NoRowsError

NONE = float("nan")
# By run: the accuracy of layers 0 to 2, at steps and at the end.
TAGS = {
    ("lm_step4", 1): (0.9, 0.2, 0.4),
    ("lm_step4", 2): (0.9, 0.4, 0.6),
    ("lm_step16", 1): (0.9, 0.5, 0.7),
    ("lm", 1): (0.9, 0.6, 0.8),
    ("mlm", 1): (0.9, 0.1, 0.1),
}


def row(objective, seed, value, name="value", **columns):
    without = value + np.array([-0.02, 0.0, 0.02])
    known = {"objective": objective, "seed": seed, name: value, "without": without}
    return known | {"ci_low": NONE, "ci_high": NONE} | columns


@pytest.fixture
def tables():
    tags = [
        row(*run, value, layer=layer, task="tag", metric=metric, baseline=0.15)
        for run, values in TAGS.items()
        for layer, value in enumerate(values)
        for metric in ("accuracy", "selectivity")
    ]
    verbs = {"score": "verb", "attractors": "all", "number": "both"}
    agreement = [
        row("lm_step4", 1, 0.5, "accuracy", by="model", **verbs),
        row("lm_step4", 1, 0.51, "accuracy", by="5-grams", **verbs),
        row("lm_step4", 1, 0.1, "accuracy", by="model", **verbs | {"attractors": "1+"}),
    ]
    return {
        "probes": pd.DataFrame(tags),
        "agreement": pd.DataFrame(agreement),
        "lm-1": pd.DataFrame({"step": [10, 20], "dev_loss_nats": [3.0, 2.0]}),
        "lm-2": pd.DataFrame({"step": [40, 50], "dev_loss_nats": [2.0, 3.0]}),
    }


def test_a_line_is_the_mean_of_layers_above_the_embeddings_and_of_runs(tables):
    _, points = figure_of.draw(tables)
    tags = points[points["panel"] == "probes"].set_index("x")
    assert set(points["series"]) == {"lm"}, "mlm was looked at at no step"
    # The end of seed 1 is at 20 and that of seed 2 at 40.
    assert tags["y"].to_dict() == pytest.approx({4: 0.4, 16: 0.6, 30: 0.7})
    assert tags["runs"].to_dict() == {4: 2, 16: 1, 30: 1}
    assert (tags["low"] < tags["y"]).all() and (tags["y"] < tags["high"]).all()


def test_verbs_are_those_of_the_model_with_any_number_of_attractors(tables):
    figure, points = figure_of.draw(tables)
    [verbs] = points[points["panel"] == "agreement"].itertuples()
    assert (verbs.x, verbs.y) == (4, 0.5)
    figure.draw_without_rendering()
    levels = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert levels == ["nothing seen\n= 0.15", "5-grams\n= 0.51"]


def test_initial_models_alone_are_at_step_0_of_an_axis(tables):
    """Of runs whose end has no value."""
    first = tables["agreement"].assign(objective="lm_step0")
    figure, points = figure_of.draw({"agreement": first, "lm-1": tables["lm-1"]})
    assert [*points["x"]] == [0]
    [axes] = figure.axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0"]
    low, high = axes.get_xlim()
    assert low < 0 < high


def test_without_parts_of_speech_it_draws_the_other_panels(tables):
    relations = tables["probes"].assign(task="relation")
    _, points = figure_of.draw(tables | {"probes": relations})
    assert {*points["panel"]} == {"agreement"}
    with pytest.raises(NoRowsError, match="no table of"):
        figure_of.draw({"probes": relations, "lm-1": tables["lm-1"], "lm-2": tables["lm-2"]})


def test_without_a_run_at_a_step_it_says_what_to_do(tables):
    """Also if verbs were asked for, and none was found."""
    whole = tables["probes"].query("objective == 'lm'")
    with pytest.raises(NoRowsError, match=r"at a step; name some in training_steps"):
        figure_of.draw(tables | {"probes": whole, "agreement": tables["agreement"].head(0)})
