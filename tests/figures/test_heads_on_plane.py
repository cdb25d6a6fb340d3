from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from bottomup.figures.heads_on_plane import draw, on_plane
from bottomup.figures.points import NoRowsError
from tests.figures.test_head_distances_figure import rows as of_other_kinds

# Two layers of two heads: a rectangle of 3 by 4, divided by ten.
CORNERS = {(1, 1): (0, 0), (1, 2): (0.3, 0), (2, 1): (0, 0.4), (2, 2): (0.3, 0.4)}


def rows(corners=CORNERS, objective="lm", seed=1):
    return pd.DataFrame(
        {"objective_a": objective, "seed_a": seed, "objective_b": objective, "seed_b": seed}
        | {"layer": a[0], "head": a[1], "to_layer": b[0], "to_head": b[1]}
        | {"among": "one", "quantity": "distance", "n": 70}
        | {"value": np.square(np.subtract(corners[a], corners[b])).sum()}
        for a, b in combinations(corners, 2)
    )


def distances(places):
    return np.hypot(*(places[:, None] - places).T)


def test_distances_on_the_plane_are_those_of_the_table():
    plane, held = on_plane(rows().sample(frac=1, random_state=1))
    assert plane["series"].tolist() == [1, 1, 2, 2] and held == pytest.approx(1)
    expected = distances(np.array([*CORNERS.values()]))
    np.testing.assert_allclose(distances(plane[["x", "y"]].to_numpy()), expected, atol=1e-9)
    # The longer side is the first axis.
    assert plane[["x", "y"]].abs().to_numpy().tolist() == pytest.approx(
        np.full((4, 2), [0.2, 0.15])
    )


def test_a_plane_holds_two_of_three_directions():
    third = {(1, head + 1): of for head, of in enumerate(np.eye(4) * [4, 4, 4, 1])}
    _, held = on_plane(rows(third))
    centered = np.eye(4) * [4, 4, 4, 1] - [1, 1, 1, 0.25]
    sizes = np.square(np.linalg.svd(centered, compute_uv=False))
    assert held == pytest.approx(sizes[:2].sum() / sizes.sum()) and held < 0.9


def test_two_heads_are_on_a_line_and_equal_ones_on_a_point():
    plane, held = on_plane(rows({(1, 1): (0, 0), (1, 2): (0.2, 0)}))
    assert np.sort(plane["x"]).tolist() == pytest.approx([-0.1, 0.1]) and held == pytest.approx(1)
    plane, held = on_plane(rows(dict.fromkeys(CORNERS, (0, 0))))
    assert held == 1 and (plane[["x", "y"]] == 0).all(axis=None)


def test_a_panel_for_the_first_run_of_each_objective_in_one_unit(nothing_cut_off):
    far = {head: (2 * x, 2 * y) for head, (x, y) in CORNERS.items()}
    tables = [rows(objective="mlm"), rows(far), rows(seed=2), of_other_kinds()]
    figure, points = draw({"head_distances": pd.concat(tables)})
    nothing_cut_off(figure)
    assert points.groupby("panel", sort=False)["x"].max().to_dict() == pytest.approx(
        {"lm": 0.4, "mlm": 0.2}
    )
    lm, mlm = figure.axes
    assert lm.get_title(loc="left") == "LM\nthe plane holds 100 %"
    assert lm.get_xlim() == lm.get_ylim() == mlm.get_xlim() and lm.get_xlim()[1] > 0.4
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["1", "2"]


def test_a_deep_model_takes_no_colors_from_others():
    deep = {(layer, head): (layer, head) for layer in range(1, 10) for head in (1, 2)}
    figure, _ = draw({"head_distances": pd.concat([rows(), rows(deep, objective="deep")])})
    shallow, deep = ([line.get_color() for line in axes.lines] for axes in figure.axes)
    assert (len(shallow), len(deep)) == (2, 9) and len({*shallow}) == 2 and len({*deep}) == 9
    assert shallow == [deep[0], deep[8]], "the lowest and the highest"
    handles = figure.legends[0].legend_handles
    assert [handle.get_color() for handle in handles] == shallow
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["lowest", "highest"]


def test_the_layer_between_two_others_is_halfway():
    three, five = (
        {(layer, head): (layer, head) for layer in range(1, top + 1) for head in (1, 2)}
        for top in (3, 5)
    )
    figure, _ = draw({"head_distances": pd.concat([rows(three), rows(five, objective="deep")])})
    of_three, of_five = ([line.get_color() for line in axes.lines] for axes in figure.axes)
    assert of_three == of_five[::2]


def test_a_model_of_one_layer_is_drawn():
    one = {(1, 1): (0, 0), (1, 2): (0.2, 0)}
    figure, _ = draw({"head_distances": pd.concat([rows(), rows(one, objective="one")])})
    two, one = ([line.get_color() for line in axes.lines] for axes in figure.axes)
    assert one == two[:1]


def test_without_two_heads_there_is_no_plane():
    with pytest.raises(NoRowsError, match="no model has two heads"):
        draw({"head_distances": of_other_kinds().assign(to_layer=1, to_head=1)})


def test_a_model_without_distances_has_no_panel():
    """As where no two of the sentences that it reads have one length."""
    unknown = rows(objective="mlm").assign(value=np.nan)
    _, points = draw({"head_distances": pd.concat([rows(), unknown])})
    assert set(points["panel"]) == {"lm"}
    with pytest.raises(NoRowsError, match="two sentences of one length"):
        draw({"head_distances": unknown})
