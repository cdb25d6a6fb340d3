"""What a linear classifier reads of syntax in each layer of one subject, from one word or two.

All words of the sentences count, each through its last sub-word (its first, where a model reads
from the end).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bottomup.core.settings import Seed, key
from bottomup.tables import Table
from bottomup.tables.structural_probe import Sentences

if TYPE_CHECKING:
    from bottomup.subjects.seen import Seen

TABLE = Table(
    "run",
    reads=("model", "held_out", "known"),
    sees="subjects",
    annotated=True,
    parts=lambda subjects: subjects.first_runs(subjects.looked_at + subjects.steps),
    memory=(900, 30, 8),
    minutes=(30, 1),
    batch_tokens=2048,
    seconds=25,
    over_layers=True,
    category="5 What a layer represents",
)


class Settings(Sentences):
    """What a linear classifier reads of words, pairs of words and phrases."""

    seed: Seed = key("seed of their draw, of pairs without an arc and of the control task")


def rows(seen: "Seen", settings: Settings) -> Iterator[dict]:
    import numpy as np

    from bottomup.measures import edge_probes, jackknife
    from bottomup.measures.structural_probe import drawn, read
    from bottomup.views.draws import SEEN

    columns = ["sentence", "word", "text", "tag", "relation", "head"]
    annotation = seen.annotation(columns)
    blocks, seed = seen.blocks, settings.seed
    views, parts = read(seen, annotation, blocks, settings.sentences, seed)
    every = drawn(annotation, blocks, settings.sentences, seed)
    words = edge_probes.words_of(annotation, *every, blocks)
    words[SEEN] = words["sentence"].isin(np.concatenate(parts))
    return edge_probes.edge_probes(views, words, jackknife.n_blocks(blocks), seed)
