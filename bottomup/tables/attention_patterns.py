"""What each encoder head of one subject attends to, by weight and by norm: special tokens,
punctuation, its neighbors; and, on repeated random tokens, what stood beside them earlier.

A model whose attention cannot be looked at has no rows.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bottomup.core.settings import Section, Seed, key
from bottomup.tables import Table

if TYPE_CHECKING:
    from bottomup.subjects.seen import Seen

TABLE = Table(
    "run",
    reads=("model", "held_out"),
    sees="subjects",
    parts=lambda subjects: subjects.runs(
        subjects.attending(subjects.compared + subjects.steps) + subjects.checkpoints
    ),
    of_heads="looked at",
    memory=(900, 30, 6),
    batch_tokens=2048,
    seconds=10,
    judged=True,
    enlarge="measures.attention_patterns.sentences",
    category="6 Attention heads",
)
COLUMNS = [
    *("attention", "layer", "head", "by", "quantity"),
    *("value", "ci_low", "ci_high", "without", "uniform", "baseline", "n", "pattern"),
]


class Settings(Section):
    """What heads attend to, by weight and by norm."""

    sentences: int = key(
        "held-out sentences that are drawn, all if there are fewer", "sentences", ge=1, le=10**6
    )
    seed: Seed = key("seed of the draw, and of random tokens")


def rows(seen: "Seen", settings: Settings) -> Iterator[dict]:
    import numpy as np

    from bottomup.core.device import device
    from bottomup.core.seeds import generator
    from bottomup.measures import jackknife
    from bottomup.measures.attention_patterns import patterns
    from bottomup.subjects.words import held_out

    blocks = seen.blocks
    drawn = generator(settings.seed, "attention patterns").permutation(len(blocks))
    some = np.sort(drawn[: settings.sentences])
    text, count = held_out(seen, some), jackknife.n_blocks(blocks)
    subject, read = seen.subject.on(device()), (settings.seed, seen.batch_tokens)
    for row in patterns(subject, text, blocks[some], count, *read):
        yield {name: row[name] for name in COLUMNS}
