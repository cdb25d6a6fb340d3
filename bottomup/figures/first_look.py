"""A first look: `mutual_information_input` of the first seed of each objective, drawn long before
the other seeds are there."""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import mutual_information_input
from bottomup.figures.page import note
from bottomup.figures.points import Tables

FIRST = "A first look at the first seed alone: mutual_information_input, once drawn, has them all."


def draw(tables: Tables, estimate: dict[str, int]) -> tuple[Figure, pd.DataFrame]:
    """The figure, marked as of one seed, and its points, as in `mutual_information_input`."""
    figure, points = mutual_information_input.draw(tables, estimate)
    note(figure, FIRST)
    return figure, points
