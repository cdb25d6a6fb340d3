"""How much groups of tokens influence the others, by layer: the PWCCA distance between other
tokens' representations as usual and with a group's tokens hidden.

Source: evolution, figures on the amount of influence by token frequency and by part of speech.
"""

from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from bottomup.figures import groups, style
from bottomup.figures.points import Tables, join

PUBLISHED = {"frequency_rank": "influence_freq", "pos": "influence_pos"}
COLUMNS = ["layer", "n_occurrences", "n_sentences"]


@style.paper()
def draw(tables: Tables, grouping: str) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `influence` and, if given, `influence_freq` or
    `influence_pos`.

    `grouping` is `frequency_rank` or `pos`.
    """
    rows = groups.select(tables, "influence", grouping, COLUMNS)
    drawn = groups.ours(rows.rename(columns={"layer": "x"}))
    panels = style.ordered(drawn["panel"])
    theirs = {style.objective(name).label: name for name in panels}
    drawn = join([drawn, groups.published(tables, PUBLISHED[grouping], theirs)])
    return cut(groups.draw(drawn, panels, grouping, counts(rows), finish)), drawn


def counts(rows: pd.DataFrame) -> str:
    """How much text the values of `rows` come from."""
    return f"{style.count(rows['n_sentences'], 'sentence')} each"


def finish(axes: Axes, shown: pd.DataFrame) -> None:
    """Axes of one panel of influence."""
    # The first layer's influence can be many times that of the others.
    axes.set_yscale("log")
    written = partial(np.format_float_positional, precision=4, fractional=False, trim="-")
    axes.yaxis.set_major_formatter(lambda distance, _: written(distance))
    axes.yaxis.set_minor_locator(NullLocator())
    style.layer_axis(axes, "layer")


def cut(figure: Figure) -> Figure:
    """The figure with axes that end below its lines: bands may reach 0, where a logarithmic axis
    has no end."""
    for axes in figure.axes:
        row = axes.get_shared_y_axes().get_siblings(axes)
        axes.set_ylim(bottom=min(line.get_ydata().min() for each in row for line in each.lines) / 2)
        style.log_ticks(axes, (1, 2, 5))
    return figure
