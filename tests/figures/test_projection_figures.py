from collections import defaultdict

import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb

from bottomup.figures import page, projection
from bottomup.figures.points import NoRowsError

PICTURES = ["token", "position", "ccg"]
EVERY = pytest.mark.parametrize("picture", PICTURES)


@EVERY
def test_points_are_those_of_the_first_seed(study, picture):
    tables = study(layers=2, seeds=(3, 2))
    _, points = projection.draw(tables, picture=picture)
    rows = tables["projection"].query(f"picture == '{picture}' and seed == 2")
    assert points[["x", "y"]].to_numpy().tolist() == rows[["x", "y"]].to_numpy().tolist()
    assert points["series"].tolist() == rows[picture].tolist()
    assert points["panel"].iloc[0] == "lm, layer 0"


def test_a_checkpoint_of_seed_0_hides_no_run(study):
    tables = study(layers=2, seeds=(3, 2))
    rows = tables["projection"]
    checkpoint = rows[rows["seed"] == 2].assign(objective="bert", seed=0)
    tables["projection"] = pd.concat([rows, checkpoint], ignore_index=True)
    _, points = projection.draw(tables, picture="token")
    assert {"lm, layer 0", "bert, layer 0"} <= set(points["panel"])


@EVERY
def test_a_row_for_each_objective_and_a_column_for_each_layer(study, picture):
    objectives = ("lm", "mlm", "mt", "untrained")
    figure, _ = projection.draw(study(layers=2, objectives=objectives), picture=picture)
    panels = figure.axes[: 4 * 3]
    assert [axes.get_ylabel() for axes in panels[::3]] == ["MT", "LM", "MLM", "untrained"]
    assert [axes.get_title() for axes in panels[:3]] == ["layer 0", "layer 1", "layer 2"]
    assert all(points.get_rasterized() for axes in panels for points in axes.collections)


def color_of_each(figure, points):
    """The colors in which each series is drawn, by series."""
    series = {(row.x, row.y): row.series for row in points.itertuples()}
    colors = defaultdict(set)
    for axes in figure.axes:
        for part in axes.collections:
            for place, color in zip(part.get_offsets(), part.get_edgecolors(), strict=False):
                if tuple(place) in series:
                    colors[series[tuple(place)]].add(to_hex(color))
    return colors


@EVERY
def test_the_color_tells_the_series_in_every_panel(study, picture):
    figure, points = projection.draw(study(layers=1), picture=picture)
    colors = color_of_each(figure, points)
    assert set(colors) == set(points["series"])
    assert all(len(found) == 1 for found in colors.values())
    drawn = {series: found.pop() for series, found in colors.items()}
    if picture == "token":
        assert drawn["is"] != drawn["are"]
    elif picture == "position":
        brightness = [sum(to_rgb(drawn[place])) for place in sorted(drawn)]
        assert brightness[0] > brightness[20] > brightness[-1], "the later, the darker"
    else:
        rare = [f"S/{place}" for place in range(7, 9)]
        frequent = {drawn[f"S/{place}"] for place in range(7)}
        assert len(frequent) == 7 and projection.OTHERS not in frequent
        assert {drawn[name] for name in rare} == {projection.OTHERS}


def test_masked_occurrences_have_a_marker_of_their_own(study):
    tables = study(layers=1)
    figure, points = projection.draw(tables, picture="token")
    assert set(points.loc[points["quantity"] == "masked", "panel"]) == {
        "mlm, layer 0",
        "mlm, layer 1",
    }
    kinds = [len(axes.collections) for axes in figure.axes]
    assert kinds == [1, 1, 1, 1, 2, 2, 1, 1]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["is (45)", "are (45)", "masked (24)"]


def test_a_word_called_others_is_not_all_others(study):
    tables = study(layers=1, objectives=("lm",))
    rows = tables["projection"].query("picture == 'token'")
    places, words = rows.groupby("layer").cumcount(), ["others", *"abcdefgh"]
    tables["projection"] = rows.assign(token=[words[place % 9] for place in places])
    figure, _ = projection.draw(tables, picture="token")
    labels = [text.get_text().rpartition(" ")[0] for text in figure.legends[0].get_texts()]
    assert len(labels) == len({*labels}) == 8 and labels[-1] == "all others"


def test_drawing_again_gives_the_same_bytes(study, tmp_path):
    files = []
    for name in ("a", "b"):
        figure, _ = projection.draw(study(layers=1, objectives=("lm",)), picture="ccg")
        paths = [tmp_path / f"{name}.{end}" for end in ("png", "pdf")]
        page.save(figure, *paths)
        files.append([path.read_bytes() for path in paths])
    assert files[0] == files[1]


@pytest.mark.parametrize("left", ["picture == 'ccg'", "layer < 0"])
def test_a_picture_of_too_few_occurrences_says_so(study, left):
    tables = study(layers=1)
    tables["projection"] = tables["projection"].query(left)
    with pytest.raises(NoRowsError, match=r"too few occurrences for the picture by token|no rows"):
        projection.draw(tables, picture="token")
