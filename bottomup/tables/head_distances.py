"""How far apart heads are by what they attend to: of one run, and of two."""

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from bottomup.core import names
from bottomup.core.settings import Section, Seed, key
from bottomup.tables import Table

if TYPE_CHECKING:
    from bottomup.plan.subjects import Subjects
    from bottomup.subjects.seen import Seen


def with_heads(subjects: "Subjects") -> list[str]:
    """A run with itself, two runs of one objective, and the first runs of trained ones, at earlier
    steps, too; a checkpoint with itself, and with what it starts from."""
    ours, theirs = subjects.attending(subjects.compared + subjects.steps), subjects.checkpoints
    pairs = [names.pair(run, run) for run in subjects.first_runs([*ours, *theirs])]
    first = set(subjects.first_pairs())
    for pair in subjects.pairs_of_runs():
        a, b = both = [names.objective_and_seed(run)[0] for run in names.runs_of(pair)]
        trained = pair in first and {*map(names.whole, both)} <= {*subjects.trained}
        of_ours = {a, b} <= {*ours} and (a == b or trained)
        starts = {a, b} <= {*theirs} and {*map(subjects.initial, both)} & {a, b}
        if of_ours or starts:
            pairs.append(pair)
    return pairs


TABLE = Table(
    "pair",
    reads=("models", "held_out"),
    sees="subjects",
    parts=with_heads,
    of_heads="looked at",
    memory=(1200, 30, 6),
    batch_tokens=2048,
    seconds=10,
    category="6 Attention heads",
)


COLUMNS = [
    *("layer", "head", "among", "quantity", "value", "ci_low", "ci_high", "without"),
    *("to_layer", "to_head", "n"),
]


class Settings(Section):
    """How far apart heads are by what they attend to."""

    sentences: int = key(
        "held-out sentences that are drawn, all if there are fewer", "sentences", ge=1, le=10**6
    )
    seed: Seed = key("seed of the draw, and of other sentences of the same length")


def rows(seen: "Seen", settings: Settings) -> pd.DataFrame:
    import logging

    import numpy as np

    from bottomup import subjects
    from bottomup.core.device import device
    from bottomup.core.seeds import generator
    from bottomup.measures import head_distances, jackknife
    from bottomup.subjects.words import held_out

    _, *second = [path.parent for path in seen.paths("model")]
    a = seen.subject.on(device())
    b = subjects.load(*second).on(device()) if second else a
    if line := b.without_heads("looked at"):
        logging.info("left out: %s", line)
        return pd.DataFrame(columns=COLUMNS)
    blocks = seen.blocks
    drawn = generator(settings.seed, "heads compared").permutation(len(blocks))
    some = np.sort(drawn[: settings.sentences])
    # What both read: the shorter one cuts long sentences.
    text, others = (
        held_out(replace(seen, subject=one), some, other.max_length)
        for one, other in ((a, b), (b, a))
    )
    count = jackknife.n_blocks(blocks)
    if not np.array_equal(text.ids, others.ids):
        logging.info("left out: the two models read a text as other tokens")
        return pd.DataFrame(columns=COLUMNS)
    read = settings.seed, seen.batch_tokens
    distances = head_distances.distances(a, b, text, blocks[some], count, *read)
    table = pd.DataFrame(head_distances.rows(distances, a, b), columns=COLUMNS)
    return table.astype(dict.fromkeys(["to_layer", "to_head"], "Int64"))
