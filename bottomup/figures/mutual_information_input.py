"""Mutual information between a layer and the input token, for every objective (evolution, figure on
information with the source token; MLM is fed without masks)."""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import information, style
from bottomup.figures.points import Tables, published_in

PUBLISHED = "ib_mi_tasks"


@style.paper()
def draw(tables: Tables, estimate: dict[str, int]) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `mutual_information` and, if given, `ib_mi_tasks`.

    `estimate` has the `n_clusters` and the `n_tokens` to show, each one of those measured.
    """
    published = published_in(tables, PUBLISHED)
    row = information.Row(
        token="input",
        select={"reading": "plain", "positions": "all", "label": "input"},
        published=published.assign(series=published["series"].str.lower()),
    )
    return information.draw(tables, [row], estimate)
