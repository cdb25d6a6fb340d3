"""Mutual information of a layer with the input and the output token, for one objective
(evolution, fig. on information with source and target token, its panels LM and MLM)."""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import information, style
from bottomup.figures.information import Row
from bottomup.figures.points import Tables, table

PUBLISHED = "ib_src_dst_lm_mlm"
# A masked position says nothing of its token at the input: only replaced ones have an input
# whose information can be lost.
MASKED = {
    "input": {"reading": "as_trained", "positions": "replaced"},
    "output": {"reading": "as_trained", "positions": "changed"},
}
PLAIN = {token: {"reading": "plain", "positions": "all"} for token in ("input", "output")}
PUBLISHED_SERIES = {"input": "src", "output": "dst"}


@style.paper()
def draw(tables: Tables, objective: str, n_clusters: int) -> tuple[Figure, pd.DataFrame]:
    """From `mutual_information`, and `ib_src_dst_lm_mlm` where given: the figure, its points.

    `n_clusters` is the number of clusters that is shown, of those measured.
    """
    measured = table(tables, "mutual_information", ["objective", "reading"])
    readings = measured.loc[measured["objective"] == objective, "reading"]
    places = MASKED if (readings == "as_trained").any() else PLAIN
    published = tables.get(PUBLISHED, information.NO_PUBLISHED)
    published = published[published["panel"] == style.objective(objective).label]
    rows = [
        Row(
            token=token,
            select={"objective": objective, "label": token, **place},
            published=published[published["series"] == PUBLISHED_SERIES[token]].assign(
                series=objective
            ),
        )
        for token, place in places.items()
    ]
    return information.draw(tables, rows, n_clusters)
