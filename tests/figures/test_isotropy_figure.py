from itertools import product

import pytest

from bottomup.core.errors import UserError
from bottomup.figures import isotropy
from tests.figures.conftest import ALSO_UNKNOWN

VERSIONS = ["raw", "centered", "standardized"]
ADJUSTED = {
    "anisotropy": False,
    "self_similarity": True,
    "intra_sentence_similarity": True,
    "maximum_explainable_variance": True,
}
CELLS = list(product(ADJUSTED, VERSIONS))


@pytest.mark.parametrize(("measure", "version"), CELLS)
def test_points_are_the_table(study, points_of, measure, version, of_two_runs):
    tables, points = study(), points_of(isotropy.draw)
    table = tables["isotropy"]
    of = (table["measure"] == measure) & (table["version"] == version)
    rows = table[of & (table["adjusted"] == ADJUSTED[measure])]
    panel = points[points["panel"] == f"{measure}, {version}"]
    assert set(panel["series"]) == {"lm", "mlm", "mt", "untrained"}
    for objective, by_layer in rows.groupby("objective"):
        drawn = panel[panel["series"] == objective].set_index("x")
        of_layer = by_layer.groupby("layer")["value"]
        assert drawn["y"].to_dict() == pytest.approx(of_layer.mean().to_dict())
        if measure == "maximum_explainable_variance" or not drawn["y"].any():
            assert drawn[["low", "high"]].isna().all(axis=None)
        else:
            for layer, runs in of_layer:
                found = drawn.loc[layer, "low"], drawn.loc[layer, "high"]
                assert found == of_two_runs(runs, low=-1.0)


def test_a_row_for_each_measure_and_a_column_for_each_version(study, nothing_cut_off):
    figure, points = isotropy.draw(study())
    nothing_cut_off(figure)
    assert list(points["panel"].unique()) == [f"{name}, {version}" for name, version in CELLS]
    assert [axes.get_title("left").split()[0] for axes in figure.axes[:3]] == VERSIONS
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert ["adjusted" in label for label in labels[::3]] == list(ADJUSTED.values())
    assert not any(labels[1::3] + labels[2::3]), "versions share the axis of their measure"
    for row in range(4):
        assert len({axes.get_ylim() for axes in figure.axes[3 * row : 3 * row + 3]}) == 1


@pytest.mark.parametrize("layers", [1, 12])
def test_other_depths_and_objectives(study, layers, require_others):
    figure, points = isotropy.draw(study(layers=layers, objectives=ALSO_UNKNOWN))
    require_others(figure, points, "95 % interval, runs and documents")


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ("version == 'raw'", "no rows with measure anisotropy, version centered, adjusted False; "),
        ("measure == 'first_component'", "found measure first_component"),
        ("measure == 'anisotropy' or not adjusted", "measure self_similarity, version raw, adjust"),
    ],
)
def test_what_was_not_measured(study, kept, said):
    tables = study()
    tables["isotropy"] = tables["isotropy"].query(kept)
    with pytest.raises(UserError, match=said) as raised:
        isotropy.draw(tables)
    assert "\n" not in str(raised.value)


def test_a_version_of_another_name(study):
    tables = study()
    versions = tables["isotropy"]["version"].replace("centered", "whitened")
    tables["isotropy"] = tables["isotropy"].assign(version=versions)
    with pytest.raises(UserError, match="centered, adjusted False; found version raw, standard"):
        isotropy.draw(tables)
