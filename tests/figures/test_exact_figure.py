import numpy as np
import pytest

from bottomup.core.errors import UserError
from bottomup.figures import exact


def test_points_are_the_table_by_layer_and_what_is_exact_stands_at_each(study, of_two_runs):
    tables = study(layers=4)
    tables["exact"] = tables["exact"].sample(frac=1, random_state=1)
    _, points = exact.draw(tables)
    panel = points[points["panel"] == "lm, plain: next"].set_index("series")
    assert panel.loc["classifier", "x"].tolist() == [0, 1, 2, 3, 4]
    # Of seeds 1 and 2, from the word alone to all that was read.
    values = [np.array([0.51, 0.52]) + layer / 4 for layer in range(5)]
    assert panel.loc["classifier", "y"].tolist() == pytest.approx([v.mean() for v in values])
    assert panel.loc["clusters", "y"].tolist() == pytest.approx([v.mean() + 0.2 for v in values])
    for value, (_, point) in zip(values, panel.loc["classifier"].iterrows(), strict=True):
        expected = of_two_runs(value, low=-np.inf, high=np.inf)
        assert (point["low"], point["high"]) == expected
    for series, nats in (("word", 0.5), ("read", 1.5)):
        of = panel.loc[series]
        assert of["x"].tolist() == [0, 1, 2, 3, 4] and (of["y"] == nats).all()
        assert of["low"].isna().all()


def test_a_column_for_each_objective_and_reading_with_its_loss(study, nothing_cut_off):
    figure, points = exact.draw(study(layers=4))
    nothing_cut_off(figure)
    assert [axes.get_title(loc="left") for axes in figure.axes[:5]] == [
        "MT\nloss 2.615\nleast 2.500",
        "LM\nloss 2.615\nleast 2.500",
        "MLM\nloss 2.615\nleast 2.500",
        "MLM, masked words\nloss 2.615\nleast 2.500",
        "untrained",
    ]
    assert len(figure.axes) == 5 * len(exact.ABOUT)
    assert figure.axes[0].get_ylabel() == "hidden state\nnats"
    losses = points[points["quantity"] == "loss, nats"].set_index(["panel", "series"])["y"]
    assert losses["mt", "excess"] == pytest.approx(0.115) and len(losses) == 9
    # The translation of a masked word is not asked for.
    empty = [axes for axes in figure.axes if not axes.axison]
    assert empty == [figure.axes[13]]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:4] == [look.label for look in exact.LOOKS.values()]


def test_a_bound_below_0_lies_in_its_interval(study):
    """A classifier may say less than nothing."""
    tables = study(layers=4)
    rows = tables["exact"]
    below = (rows["estimator"] == "classifier").to_numpy() * 2.0
    without = [of - by for of, by in zip(rows["without"], below, strict=True)]
    _, points = exact.draw({"exact": rows.assign(nats=rows["nats"] - below, without=without)})
    of = points[points["series"] == "classifier"]
    assert (of["y"] < -0.4).all() and (of["low"] < of["y"]).all() and (of["y"] < of["high"]).all()


def test_one_line_without_information_and_no_loss_where_none_is_known(study):
    rows = study(layers=4)["exact"]
    of_loss = rows["quantity"] == "loss"
    with pytest.raises(UserError, match="the table exact has no rows with quantity information"):
        exact.draw({"exact": rows[of_loss]})
    figure, points = exact.draw({"exact": rows[~of_loss]})
    assert figure.axes[1].get_title(loc="left") == "LM"
    assert set(points["quantity"]) == {"information, nats"}
