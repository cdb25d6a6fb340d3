"""What each head of a subject attends to in a few short held-out sentences.

A model whose attention cannot be looked at has no rows.
"""

from typing import TYPE_CHECKING

import pandas as pd

from bottomup.core.settings import Section
from bottomup.tables import Table

if TYPE_CHECKING:
    from bottomup.subjects.seen import Seen

TABLE = Table(
    "run",
    reads=("model", "test_pairs"),
    sees="subjects",
    parts=lambda subjects: subjects.first_runs(
        subjects.attending(subjects.compared) + subjects.checkpoints
    ),
    options=lambda slices, of: {
        "sentences": slices.study.site.sentences,
        "seed": slices.study.heads.seed,
    },
    of_heads="looked at",
    writes=("parquet",),
    memory=(900, 10, 4),
    minutes=(5, 0.1),
)
COLUMNS = [
    *("attention", "layer", "head", "sentence"),
    *("query", "key", "query_token", "key_token", "weight"),
]


class Settings(Section):
    """How many sentences, and the seed of their draw."""

    sentences: int
    seed: int


def rows(seen: "Seen", settings: Settings) -> pd.DataFrame:
    from bottomup.core.files.tables import read_table
    from bottomup.core.files.tokenizers import load_tokenizer
    from bottomup.heads.attention import attention, short, weight_rows

    text, path = read_table(seen.needed("pairs")), seen.file("target_tokenizer")
    tokenizer = load_tokenizer(path) if path else None
    parts = []
    for sentence in short(text["source"], settings.sentences, settings.seed):
        # A decoder predicts the reference.
        target = text["target"][sentence] if tokenizer else None
        for kind in attention(seen.subject, text["source"][sentence], target, tokenizer):
            parts.append(weight_rows(*kind).assign(sentence=sentence))
    return pd.concat(parts, ignore_index=True)[COLUMNS]
