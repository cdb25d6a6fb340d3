"""Mutual information between a layer and the input or the output token, for one objective
(evolution, figure on information with source and target token, panels LM and MLM)."""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import information, style
from bottomup.figures.information import Row
from bottomup.figures.points import Tables, published_in, table

PUBLISHED = "ib_src_dst_lm_mlm"
# By reading, the positions. A mask says nothing of its token at the input; only replaced tokens are
# an input whose information can be lost.
POSITIONS = {
    "plain": {"input": "all", "output": "all"},
    "as_trained": {"input": "replaced", "output": "changed"},
}
PUBLISHED_SERIES = {"input": "src", "output": "dst"}


@style.paper()
def draw(
    tables: Tables, objective: str, reading: str, estimate: dict[str, int]
) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `mutual_information` and, if given, `ib_src_dst_lm_mlm`.

    `reading` is `plain` or `as_trained`; `estimate` has the `n_clusters` and the `n_tokens` to
    show, each one of those measured.
    """
    published = published_in(tables, PUBLISHED)
    published = published[published["panel"] == style.objective(objective).label]
    # Where training replaces no token by another, there is no such input.
    measured = table(tables, "mutual_information", information.NEEDED)
    about = measured.loc[
        (measured["objective"] == objective) & (measured["reading"] == reading),
        ["label", "positions"],
    ]
    known = set(about.itertuples(index=False, name=None))
    shown = [entry for entry in POSITIONS[reading].items() if entry in known]
    rows = [
        Row(
            token=token,
            select={
                "objective": objective,
                "label": token,
                "reading": reading,
                "positions": positions,
            },
            published=published[published["series"] == PUBLISHED_SERIES[token]].assign(
                series=objective
            ),
        )
        for token, positions in shown or POSITIONS[reading].items()
    ]
    return information.draw(tables, rows, estimate)
