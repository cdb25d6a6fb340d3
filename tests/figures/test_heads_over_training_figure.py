import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.figures import heads_over_training as figure_of
from bottomup.figures import style

THRESHOLDS = {"positional": 0.9, "syntactic": 0.1, "rare": 0.5}
# By objective and seed: of two heads of one layer the accuracies at each function, best distance
# 0.4 for subjects both ways, and their confidence and share of relevance.
HEADS = {
    ("lm_step0", 1): {"positional": (0.2, 0.3), "nsubj_to_head": (0.3, 0.4), "rarest": (0.9, 0.9)},
    ("lm_step8", 1): {"positional": (0.95, 0.3), "nsubj_to_head": (0.3, 0.5)},
    ("lm", 1): {"positional": (0.95, 0.92), "nsubj_from_head": (0.3, 0.6), "two_rarest": (0.7, 0)},
    ("lm_step0", 2): {"positional": (0.1, 0.1)},
    ("lm_step8", 2): {"positional": (0.2, 0.85)},
    ("lm", 2): {"positional": (0.1, 0.97)},
    ("mt", 1): {"positional": (0.1, 0.97)},
}
CONFIDENCE, RELEVANCE = (0.2, 0.6), (0.7, 0.3)


def held(function: str, accuracy: float) -> bool:
    limits = {"positional": 0.9, "nsubj_to_head": 0.44, "nsubj_from_head": 0.44}
    return accuracy >= limits.get(function, 0.5)


@pytest.fixture
def tables():
    functions, importance = [], []
    for (objective, seed), found in HEADS.items():
        of = {"objective": objective, "seed": seed, "attention": "encoder", "layer": 1}
        for function, accuracies in found.items():
            baseline = 0.4 if function.startswith("nsubj") else None
            for head, accuracy in enumerate(accuracies, 1):
                row = {"head": head, "function": function, "accuracy": accuracy}
                row |= {"baseline_accuracy": baseline, "held": held(function, accuracy)}
                functions.append(of | row)
        values = {"confidence": CONFIDENCE, "relevance_alpha_beta": RELEVANCE}
        for name, numbers in values.items():
            for head, value in enumerate(numbers, 1):
                importance.append(of | {"head": head, "importance": name, "value": value})
    return {
        "head_functions": pd.DataFrame(functions),
        "head_importance": pd.DataFrame(importance),
        "lm-1": pd.DataFrame({"step": [10, 20], "dev_loss_nats": [3.0, 2.0]}),
        "lm-2": pd.DataFrame({"step": [10, 20], "dev_loss_nats": [2.0, 3.0]}),
    }


def drawn(tables, quantity, series):
    """By step: mean, lowest and highest seed."""
    figure, points = figure_of.draw(tables, THRESHOLDS)
    figure.draw_without_rendering()
    assert set(points["panel"]) == {"lm"}, "mt was kept at no step"
    rows = points[(points["quantity"] == quantity) & (points["series"] == series)]
    return {row.x: (row.y, row.low, row.high) for row in rows.itertuples()}


def test_heads_with_a_function_are_counted_once(tables):
    """The end is at 20 and at 10, 15 on average; the first run has two positional heads there."""
    counts = drawn(tables, figure_of.COUNT, "positional")
    assert counts == {0: (0, 0, 0), 8: (0.5, 0, 1), 15: (1.5, 1, 2)}
    syntactic = drawn(tables, figure_of.COUNT, "syntactic")
    assert {step: y for step, (y, _, _) in syntactic.items()} == {0: 0, 8: 1, 15: 1}


def test_the_best_head_at_a_function(tables):
    best = drawn(tables, figure_of.ACCURACY, "positional")
    assert best[8] == (pytest.approx(0.9), 0.85, 0.95)
    rare = drawn(tables, figure_of.ACCURACY, "rare")
    assert {step: y for step, (y, _, _) in rare.items()} == {15: 0.7}, "of the two rarest alone"


def test_the_best_head_for_a_relation_either_way_above_the_best_distance(tables):
    gains = {step: y for step, (y, _, _) in drawn(tables, figure_of.GAIN, "nsubj").items()}
    assert gains == {0: pytest.approx(0.0), 8: pytest.approx(0.25), 15: pytest.approx(0.5)}


def test_how_unlike_heads_are(tables):
    expected = {"highest confidence": 0.6, "mean confidence": 0.4, "most relevant of a layer": 0.7}
    for series, value in expected.items():
        shown = drawn(tables, figure_of.UNLIKE, series)
        assert {step: y for step, (y, _, _) in shown.items()} == dict.fromkeys(
            (0, 8, 15), pytest.approx(value)
        )


def test_without_runs_at_steps(tables):
    functions = tables["head_functions"]
    tables["head_functions"] = functions[functions["objective"] == "mt"]
    tables["head_importance"] = tables["head_importance"].query("objective == 'mt'")
    with pytest.raises(UserError, match="head_functions has no run at a step"):
        figure_of.draw(tables, THRESHOLDS)


def test_it_has_a_column_for_each_objective_and_a_key_beside_each_row(tables):
    figure, _ = figure_of.draw(tables, THRESHOLDS)
    assert figure.axes[0].get_title("left") == style.objective("lm").label
    keys = [[text.get_text() for text in axes.get_legend().get_texts()] for axes in figure.axes]
    assert [names[0] for names in keys] == [
        "positional",
        "positional",
        "nsubj",
        "highest confidence",
    ]
