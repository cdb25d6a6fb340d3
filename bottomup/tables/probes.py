"""What a linear classifier finds in each layer of one run, and in a mix of all.

If occurrences are sub-words, a word is seen through its last one; if they are words, as
`views.pooling` says.
"""

import logging
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

log = logging.getLogger(__name__)


class Settings(Section):
    """What a linear classifier finds in a layer."""

    tasks: Annotated[list[Literal["tag", "relation", "ccg"]], AfterValidator(unique)] = key(
        "what to predict of a word: part of speech, dependency relation, CCG category; a task that "
        "the annotation does not have is left out, as is one of a single label",
        min_length=1,
    )
    occurrences: int = key(
        "words in the drawn sentences, for training and test together", "words", ge=100, le=10**7
    )
    seed: Seed = key("seed of the draw of sentences, of the split and of the control task")


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.core.errors import UserError
    from bottomup.measures import jackknife
    from bottomup.measures.probes import control_labels, probe, scalar_mix
    from bottomup.views.draws import places

    seed, whole = settings.seed, seen.whole
    every = drawn(whole, settings.occurrences, seed)
    kept = every[seen.there[every]]
    sentences, blocks = (whole[name].to_numpy()[kept] for name in ("sentence", "block"))
    in_view, count = places(seen.there, kept), jackknife.n_blocks(seen.blocks)
    labels, controls = {}, {}
    tasks = [task for task in settings.tasks if task in whole]
    for task in tasks:
        of_task, of_every = (whole[task].to_numpy()[of] for of in (kept, every))
        if len({*of_task}) < 2:
            log.warning(f"task {task}: all {len(kept)} words have one label, so it is left out")
            continue
        control = control_labels(of_every, whole["input_id"].to_numpy()[every], seed)
        labels[task], controls[task] = of_task, control[seen.there[every]]
    if not labels:
        raise UserError(
            f"measures.probes.tasks: found {', '.join(tasks)}, of which none has two "
            f"labels among {len(kept)} words; raise occurrences.n, or leave out the table probes"
        )
    for layer, view in enumerate(seen.views):
        for task, of in labels.items():
            asked = of, controls[task], sentences, blocks, count, seed
            for row in probe(task, view[in_view], *asked):
                yield {"layer": layer, **row}
    for task, of in labels.items():
        yield from scalar_mix(task, seen.views[:, in_view], of, sentences, blocks, count, seed)


def drawn(occurrences: pd.DataFrame, n: int, seed: int) -> np.ndarray:
    """The rows that stand for words, in sentences drawn without replacement until there are `n`,
    sorted."""
    from bottomup.measures.probes import drawn_order

    ends = np.flatnonzero(occurrences["stands_for_word"])
    place = drawn_order(occurrences["sentence"].to_numpy()[ends], seed, "probes")
    n_sentences = np.searchsorted(np.cumsum(np.bincount(place)), n) + 1
    return ends[place < n_sentences]
