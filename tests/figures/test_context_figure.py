import pytest

from bottomup.core.errors import UserError
from bottomup.figures import context
from tests.figures.conftest import ALSO_UNKNOWN

BEFORE, AFTER = ["-1", "-2", "-3", "-4"], ["+1", "+2", "+3", "+4"]
PLACES = ["0", *BEFORE, "anywhere", *AFTER]
OTHERS = [*range(1, 10)]  # the panels of an estimator that are about other tokens


@pytest.mark.parametrize("estimator", ["classifier", "clusters"])
@pytest.mark.parametrize("place", PLACES)
def test_points_are_the_table(study, points_of, estimator, place):
    tables, points = study(), points_of(context.draw)
    rows = tables["context"]
    rows = rows[(rows["estimator"] == estimator) & (rows["place"] == place)]
    rows = rows[rows["quantity"] == ("information" if place == "0" else "added")]
    panel = points[points["panel"] == f"{estimator}: {place}"]
    assert len(panel) == len(rows) == 4 * 7  # models and layers
    for objective, by_layer in rows.groupby("objective"):
        drawn = panel[panel["series"] == objective].set_index("x")
        by_layer = by_layer.set_index("layer")
        assert drawn["y"].to_dict() == by_layer["nats"].to_dict()
        if place == "0":
            assert drawn[["low", "high"]].isna().all(axis=None)
        else:
            assert drawn["low"].to_dict() == pytest.approx(
                by_layer["ci_low"].to_dict(), nan_ok=True
            )
        assert (drawn["n"] == by_layer["n_occurrences"]).all()
    own = place == "0"
    assert set(panel["quantity"]) == {"information, nats" if own else "added by context, nats"}


def test_places_stand_from_near_to_far_those_before_above_those_after(study, nothing_cut_off):
    figure, points = context.draw(study())
    nothing_cut_off(figure)
    estimators = "classifier", "clusters"
    assert [*points["panel"].unique()] == [
        f"{name}: {place}" for name in estimators for place in PLACES
    ]
    titles = [axes.get_title("left").splitlines() for axes in figure.axes]
    before, after = ([f"{n} {side}" for n in range(1, 5)] for side in ("before", "after"))
    others = [*before, "anywhere in the sentence", *after]
    assert [title[-1] for title in titles] == 2 * ["its own token", *others]
    assert titles[0][:2] == ["by a linear classifier", "100 tokens, 8,000 occurrences"]
    assert titles[10][:2] == ["by clusters", "100 tokens, 16,000 occurrences"]


def test_other_tokens_share_an_axis_and_the_own_one_has_its_own(study):
    figure, _ = context.draw(study())
    for first in (0, 10):
        panels = figure.axes[first : first + 10]
        assert len({panels[place].get_ylim() for place in OTHERS}) == 1
        assert panels[0].get_ylim() != panels[1].get_ylim()
        labels = [axes.get_ylabel() for axes in panels]
        added = "added by context, nats"
        assert labels[:2] + labels[5:7] == ["information, nats", added, added, added]
        assert not any(labels[2:5] + labels[7:])
        [level] = [text.get_text() for text in panels[0].texts]
        assert level.split()[:3] == ["H", "=", "3.9"]


@pytest.mark.parametrize("layers", [1, 12])
def test_other_depths_and_objectives(study, layers, require_others):
    figure, points = context.draw(study(layers=layers, objectives=ALSO_UNKNOWN))
    require_others(figure, points, "95 % interval, documents (one run)")


def test_a_place_that_was_not_measured(study):
    tables = study()
    tables["context"] = tables["context"].query("place != '+2'")
    said = r"table context has no rows with estimator classifier, place \+2, quantity added; "
    with pytest.raises(UserError, match=said) as raised:
        context.draw(tables)
    assert "\n" not in str(raised.value)
