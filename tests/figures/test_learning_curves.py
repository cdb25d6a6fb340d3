import pytest

from bottomup.core.errors import UserError
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


@pytest.mark.parametrize("names", [("mlm", "lm"), ("mlm", "mt", "lm", "mt_noise", "lm_noise")])
def test_one_panel_an_objective_in_order(runs, names):
    figure, _ = learning_curves.draw(runs(objectives=names, seeds=(5,)))
    titles = ["MT", "LM", "MLM", "MT, token dropout", "LM, token dropout"]
    if len(names) == 2:
        titles = titles[1:3]
    assert [axes.get_title("left") for axes in figure.axes] == titles


@pytest.mark.parametrize(("n", "marker"), [(1, "."), (2, "")])
def test_a_single_evaluation_is_seen(runs, n, marker):
    every = runs(objectives=("lm",))
    tables = {
        name: metrics.dropna(subset="dev_loss_nats").head(n) for name, metrics in every.items()
    }
    figure, points = learning_curves.draw(tables)
    lines = figure.axes[0].lines
    assert len(lines) == points.groupby(["series", "quantity"]).ngroups == 4
    assert {line.get_marker() for line in lines} == {marker}


def test_no_runs():
    with pytest.raises(UserError, match="no metrics"):
        learning_curves.draw({})
