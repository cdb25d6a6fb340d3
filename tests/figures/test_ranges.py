"""What a figure says of panels whose axes look the same and are not."""

import pytest
from matplotlib.figure import Figure

from bottomup.figures.ranges import differ

X, Y, BOTH = (
    f"Panels differ in the range of the {axes} axis." for axes in ("x", "y", "x and the y")
)


def two(first, second, sharey=False, labels=("nats", ""), **settings):
    """Two panels side by side, a line through two points in each."""
    figure = Figure()
    panels = figure.subplots(1, 2, sharey=sharey)
    for axes, (x, y), label in zip(panels, (first, second), labels, strict=True):
        axes.plot(x, y)
        axes.set(ylabel=label, xlabel="layer", **settings)
    return figure


@pytest.mark.parametrize(
    ("first", "second", "more", "said"),
    [
        (([0, 3], [0, 1]), ([0, 3], [0, 1]), {}, ""),
        (([0, 3], [0, 1]), ([0, 3], [0, 1.1]), {}, ""),
        (([0, 3], [0, 1]), ([0, 3], [0, 9]), {}, Y),
        (([0, 3], [0, 1]), ([0, 3], [8, 9]), {}, Y),
        (([0, 3], [0, 1]), ([0, 3], [0, 9]), {"sharey": True}, ""),
        (([0, 3], [0, 1]), ([0, 3], [0, 9]), {"labels": ("nats", "share")}, ""),
        (([0, 3], [0, 1]), ([0, 3], [0, 9]), {"labels": ("nats", "nats")}, Y),
        (([0, 3], [0, 1]), ([0, 3], [0, 9]), {"labels": ("", "")}, ""),
        (([0, 3], [0, 1]), ([0, 6], [0, 1]), {}, X),
        (([0, 3], [0, 1]), ([0, 6], [0, 9]), {}, BOTH),
        (([0, 3], [1, 100]), ([0, 3], [1, 200]), {"yscale": "log"}, ""),
        (([0, 3], [1, 10]), ([0, 3], [1, 99]), {"yscale": "log"}, Y),
        (([0, 3], [0, 1]), ([0, 6], [0, 1]), {"xticks": []}, ""),
    ],
)
def test_panels_of_one_label_and_different_ranges_are_told(first, second, more, said):
    assert differ(two(first, second, **more)) == said


def test_a_label_below_is_of_the_panels_above_and_one_to_the_right_is_not():
    figure = Figure()
    grid = figure.subplots(2, 2)
    for place, axes in enumerate(grid.flat):
        axes.plot([0, 3 + 9 * (place == 0)], [0, 1 + 9 * (place % 2 == 0)])
    assert differ(figure) == ""
    grid[0, 1].set_ylabel("nats")
    assert differ(figure) == "", "of the right column alone"
    grid[1, 0].set_xlabel("layer")
    assert differ(figure) == X


def test_axes_that_are_off_or_empty_have_no_range():
    figure = two(([0, 3], [0, 1]), ([0, 3], [0, 9]))
    figure.axes[1].set_axis_off()
    assert differ(figure) == ""
    figure = Figure()
    first, second = figure.subplots(1, 2)
    first.plot([0, 1], [0, 9])
    first.set_ylabel("nats")
    second.text(0.5, 0.5, "not measured")
    assert differ(figure) == ""
