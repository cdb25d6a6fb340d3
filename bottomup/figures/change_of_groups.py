"""PWCCA distance between consecutive layers for groups of tokens: by frequency rank or by part of
speech.

Source: evolution, figures on the amount of change by token frequency and by part of speech.
"""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import groups, style
from bottomup.figures.points import Tables, join

PUBLISHED = {"frequency_rank": "change_freq", "pos": "change_pos"}


@style.paper()
def draw(tables: Tables, grouping: str) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `change` and, if given, `change_freq` or `change_pos`.

    `grouping` is `frequency_rank` or `pos`. As in the paper, the step out of the embeddings is not
    shown, unless a model has no other.
    """
    columns = ["layer_a", "layer_b", "n_occurrences"]
    rows = groups.select(tables, "change", grouping, columns)
    rows = groups.beyond_embeddings(rows, "panel")
    steps = rows["layer_a"].astype(str) + "-" + rows["layer_b"].astype(str)
    drawn = groups.ours(rows.assign(x=steps))
    panels = style.ordered(drawn["panel"])
    theirs = {style.objective(name).label: name for name in panels}
    drawn = join([drawn, groups.published(tables, PUBLISHED[grouping], theirs)])
    counts = f"{style.count(rows['n_occurrences'], 'occurrence')} each"
    figure = groups.draw(
        drawn, panels, grouping, counts, lambda axes, shown: style.step_axis(axes, shown["x"])
    )
    return figure, drawn
