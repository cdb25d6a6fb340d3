import pytest

from bottomup.errors import UserError
from bottomup.figures import learning_curves


def test_points_are_the_metrics(runs):
    tables = runs()
    _, points = learning_curves.draw(tables)
    for name, metrics in tables.items():
        for quantity, column in (("dev loss", "dev_loss_nats"), ("train loss", "train_loss_nats")):
            drawn = points[(points["series"] == name) & (points["quantity"] == quantity)]
            expected = metrics.dropna(subset=column)
            assert drawn["x"].tolist() == expected["tokens"].tolist()
            assert drawn["y"].tolist() == expected[column].tolist()


def test_one_panel_an_objective_in_order(runs):
    figure, _ = learning_curves.draw(runs(objectives=("mlm", "mt_noise", "lm"), seeds=(5,)))
    assert [axes.get_title("left") for axes in figure.axes] == ["LM", "MLM", "mt noise"]


def test_no_runs():
    with pytest.raises(UserError, match="no metrics"):
        learning_curves.draw({})
