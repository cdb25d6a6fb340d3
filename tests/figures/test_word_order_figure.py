import numpy as np
import pytest

from bottomup.figures import word_order
from bottomup.figures.word_order import BY_LAYER, CONTEXT, CUT, LOSS, ORDERS


@pytest.mark.parametrize("case", BY_LAYER, ids=" ".join)
def test_points_are_the_table_by_layer(study, case, require_means):
    tables, (order, part) = study(), case
    rows = tables["word_order"].query(f"order == '{order}' and part == '{part}'")
    rows = rows[rows["quantity"] == "distance"]
    tables["word_order"] = tables["word_order"].sample(frac=1, random_state=1)
    _, points = word_order.draw(tables)
    panel = points[points["panel"] == BY_LAYER[case].replace("\n", " ")]
    require_means(panel, rows, low=0, high=np.inf)


def test_context_is_that_of_the_last_layer_and_losses_are_of_who_predicts(study, nothing_cut_off):
    figure, points = word_order.draw(study(seeds=(1,)))
    nothing_cut_off(figure)
    cut = points[(points["panel"] == CUT) & (points["series"] == "lm")]
    assert [*cut["x"]] == [*CONTEXT]
    assert [*cut["y"]] == pytest.approx([0.46 / (1 + left) for left in (0, 1, 2, 4, 8)])
    losses = points[points["panel"] == LOSS]
    assert set(losses["series"]) == {"lm", "mlm", "mt"}
    of_lm = losses[losses["series"] == "lm"]
    assert [*of_lm["x"]] == [*ORDERS] and [*of_lm["y"]] == pytest.approx([0.6, 1.1, 1.6, 2.1])
    assert (losses["quantity"] == "nats a prediction, above the true sentence").all()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["MT", "LM", "MLM", "untrained", "95 % interval, documents (one run)"]


def test_who_predicts_nothing_leaves_the_last_panel_empty(study):
    figure, points = word_order.draw(study(objectives=["untrained"]))
    assert LOSS not in set(points["panel"])
    assert "not measured" in figure.axes[5].texts[0].get_text()
    figure.draw_without_rendering()
