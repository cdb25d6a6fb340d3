"""Whether attention of one subject joins the words that the parser's trees join.

A model whose attention cannot be looked at has no rows.
"""

from typing import TYPE_CHECKING

from bottomup.core.settings import Section, Seed, key
from bottomup.tables import Table

if TYPE_CHECKING:
    import pandas as pd

    from bottomup.subjects.seen import Seen

TABLE = Table(
    "run",
    reads=("model", "held_out", "known"),
    sees="subjects",
    parts=lambda subjects: subjects.runs(
        subjects.attending(subjects.compared + subjects.steps) + subjects.checkpoints
    ),
    of_heads="looked at",
    annotated=True,
    memory=(1200, 30, 8),
    minutes=(30, 1),
    batch_tokens=2048,
    seconds=12,
    category="6 Attention heads",
)
COLUMNS = [
    *("layer", "of", "head", "value", "ci_low", "ci_high", "without", "chosen_at"),
    *("by_place", "chain", "permuted", "n", "n_needed"),
]


class Settings(Section):
    """Whether attention joins the words that syntax trees join."""

    sentences: int = key(
        "sentences of 5 to 50 words that choose a head, and as many that score it, of other "
        "documents; fewer where the test split has not so many",
        "sentences",
        ge=100,
        le=10**6,
    )
    seed: Seed = key("seed of their draw, and of whose trees change places as a control")


def rows(seen: "Seen", settings: Settings) -> "pd.DataFrame":
    import pandas as pd

    from bottomup.core.device import device
    from bottomup.heads import attention_trees
    from bottomup.measures import jackknife
    from bottomup.measures import structural_probe as probe
    from bottomup.subjects.words import held_out

    columns = ["sentence", "word", "relation", "head"]
    annotation = seen.annotation(columns)
    blocks = seen.blocks
    texts, parses = [], []
    for sentences in probe.drawn(annotation, blocks, settings.sentences, settings.seed):
        text = held_out(seen, sentences)
        whole = probe.read_whole(text, annotation, sentences)
        texts.append(text.select(whole.nonzero()[0]))
        parses.append(probe.trees(annotation, sentences[whole], blocks))
    count = jackknife.n_blocks(blocks)
    measured = attention_trees.attention_trees(
        seen.subject.on(device()), texts, parses, count, settings.seed, seen.batch_tokens
    )
    return pd.DataFrame(measured, columns=COLUMNS).astype({"head": "Int64"})
