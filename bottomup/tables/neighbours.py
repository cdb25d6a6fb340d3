"""What each occurrence has in common with its nearest neighbors, at each layer of one run.

Rows: one for each layer, property and metric: for position the mean distance to the neighbors in
tokens, for all others the share of neighbors with the same; chance is what neighbors drawn at
random would give.
"""

from collections.abc import Iterator

import pandas as pd

from bottomup.measures import neighbours
from bottomup.measures.neighbours import Sample
from bottomup.settings import Neighbours as Settings
from bottomup.tables import Seen


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    k, source = settings.k, seen.occurrences["ccg_source"].iloc[0]
    samples = [(sample, neighbours.chance(sample)) for sample in drawn(seen.occurrences, settings)]
    for layer, view in enumerate(seen.views):
        for sample, chance in samples:
            for metric in neighbours.METRICS:
                for row in neighbours.estimates(view, sample, seen.blocks, k, metric=metric):
                    name = row["property"]
                    yield {
                        **{"layer": layer, "property": name, "metric": metric, "k": k},
                        **{**row, "chance": chance[name]},
                        **{"n_occurrences": sample.rows.size, "n_tokens": sample.n_tokens},
                        "ccg_source": source if name.startswith("ccg") else "",
                    }


def drawn(occurrences: pd.DataFrame, settings: Settings) -> list[Sample]:
    """The occurrences that are compared, for each kind of property."""
    seed = settings.seed
    within = settings.within_tokens, settings.within_occurrences, seed
    return [
        neighbours.among_tokens(occurrences, settings.tokens, settings.occurrences, seed),
        neighbours.within_tokens(occurrences, *within),
        neighbours.within_ambiguous_tokens(occurrences, *within),
    ]
