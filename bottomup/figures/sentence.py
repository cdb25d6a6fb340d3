"""The words of one sentence against each other: for each model a map of the bottom layer above one
of the top layer.

Not in the papers.
"""

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from bottomup.figures import layout, style
from bottomup.figures.points import Tables, points, table

NEEDED = [
    *("objective", "seed", "layer"),
    *("place_a", "word_a", "place_b", "word_b", "cosine"),
]
# White is 0, and both ends are dark, of different colors with any color vision.
SHADES = matplotlib.colormaps["RdBu_r"]
NORM = Normalize(-1, 1)
BESIDE = 5  # models side by side
CELL = 0.13  # inches of a word
SMALL = 6  # font size of the words


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `sentence`: a panel for each model and layer, words of the
    sentence with their places, from 1, as `series` and `x`, and their cosine as `y`."""
    measured = table(tables, "sentence", NEEDED)
    within = measured.groupby("objective")["layer"]
    shown = measured[measured["layer"].isin([0]) | (measured["layer"] == within.transform("max"))]
    objectives = style.ordered(shown["objective"])
    lines = layout.in_rows(objectives, BESIDE)
    longest = shown["word_a"].str.len().max() * SMALL * 0.6 / 72
    side = max(1.2, CELL * (1 + shown["place_a"].max()))
    columns, rows = max(map(len, lines)), 2 * len(lines)
    size = (columns * (side + 0.1) + longest + 1, rows * (side + 0.3) + len(lines) * longest)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for number, line in enumerate(lines):
        for column, objective in enumerate(line):
            of_model = shown[shown["objective"] == objective]
            bottom, top = grid[2 * number : 2 * number + 2, column]
            # On two lines where one would be longer than the panel.
            name = style.objective(objective).label.replace(", ", ",\n") + "\n"
            for axes, layer, above in ((bottom, 0, name), (top, of_model["layer"].max(), "")):
                _map(axes, of_model[of_model["layer"] == layer], column == 0, axes is top)
                axes.set_title(f"{above}layer {layer}", fontsize=SMALL + 1)
    label = "cosine of two words, less the mean of all words"
    scale = figure.colorbar(ScalarMappable(NORM, SHADES), ax=grid, label=label, aspect=40)
    scale.outline.set_visible(False)
    return figure, points(
        shown.assign(
            panel=shown["objective"] + ", layer " + shown["layer"].astype(str),
            series=_places(shown, "a"),
            x=_places(shown, "b"),
        ).rename(columns={"cosine": "y"}),
        quantity="cosine",
    )


def _places(rows: pd.DataFrame, side: str) -> pd.Series:
    """Each word with its place in the sentence: a word may be there twice."""
    return (rows[f"place_{side}"] + 1).astype(str) + " " + rows[f"word_{side}"]


def _map(axes: Axes, shown: pd.DataFrame, first: bool, last: bool) -> None:
    """Draw one panel, the first word on top; the words at its left where it is the first of its
    row, and below where it is the last of its column."""
    values = shown.pivot(index="place_a", columns="place_b", values="cosine")
    words = shown.drop_duplicates("place_a").set_index("place_a")["word_a"][values.index].tolist()
    axes.set_axis_on()
    axes.imshow(values.to_numpy(), cmap=SHADES, norm=NORM, aspect="auto")
    places = range(len(words))
    axes.set_xticks(places, words if last else [], rotation=90, fontsize=SMALL)
    axes.set_yticks(places, words if first else [], fontsize=SMALL)
    style.cells(axes)
