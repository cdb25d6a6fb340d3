"""What a linear classifier finds in each layer of one run, and in a mix of all.

If occurrences are sub-words, a word is seen through its last one; if they are words, as
`views.pooling` says.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import AfterValidator

from bottomup.core.settings import Section, Seed, key, unique
from bottomup.tables import Table
from bottomup.views.seen import Seen

TABLE = Table(
    "run",
    reads=("views", "annotations"),
    seconds=55,
    over_layers=True,
    judged=True,
    enlarge="measures.probes.occurrences",
    category="5 What a layer represents",
)


class Settings(Section):
    """What a linear classifier finds in a layer."""

    tasks: Annotated[list[Literal["tag", "relation", "ccg"]], AfterValidator(unique)] = key(
        "what to predict of a word: part of speech, dependency relation, CCG category; a task that "
        "the annotation does not have is left out",
        min_length=1,
    )
    occurrences: int = key(
        "words in the drawn sentences, for training and test together", "words", ge=100, le=10**7
    )
    seed: Seed = key("seed of the draw of sentences, of the split and of the control task")


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.measures import jackknife
    from bottomup.measures.probes import probe, scalar_mix

    tasks = [task for task in settings.tasks if task in seen.occurrences]
    kept = drawn(seen.occurrences, settings.occurrences, settings.seed)
    occurrences = seen.occurrences.iloc[kept]
    words, sentences, blocks = (
        occurrences[name].to_numpy() for name in ("input_id", "sentence", "block")
    )
    count = jackknife.n_blocks(seen.blocks)
    for layer, view in enumerate(seen.views):
        for task in tasks:
            labels = occurrences[task].to_numpy()
            measured = probe(
                task, view[kept], labels, words, sentences, blocks, count, settings.seed
            )
            for row in measured:
                yield {"layer": layer, **row}
    for task in tasks:
        labels = occurrences[task].to_numpy()
        views = seen.views[:, kept]
        yield from scalar_mix(task, views, labels, sentences, blocks, count, settings.seed)


def drawn(occurrences: pd.DataFrame, n: int, seed: int) -> np.ndarray:
    """The rows that stand for words, in sentences drawn without replacement until there are `n`,
    sorted."""
    from bottomup.measures.probes import drawn_order

    ends = np.flatnonzero(occurrences["stands_for_word"])
    place = drawn_order(occurrences["sentence"].to_numpy()[ends], seed, "probes")
    n_sentences = np.searchsorted(np.cumsum(np.bincount(place)), n) + 1
    return ends[place < n_sentences]
