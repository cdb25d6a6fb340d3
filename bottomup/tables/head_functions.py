"""Which functions the encoder heads of one subject have: positional, syntactic, rare tokens.

All sub-words of a word count, whatever views.pooling says: weights to them are added, and weights
from them averaged. A model whose attention cannot be looked at has no rows.
"""

import logging
from typing import TYPE_CHECKING

import pandas as pd

from bottomup.core.settings import Thresholds
from bottomup.tables import Table

if TYPE_CHECKING:
    from bottomup.subjects.seen import Seen

TABLE = Table(
    "run",
    reads=("model", "held_out", "known"),
    sees="subjects",
    parts=lambda subjects: subjects.runs(
        subjects.attending(subjects.by_noise + subjects.steps) + subjects.checkpoints
    ),
    options=lambda slices, of: slices.study.heads.thresholds,
    of_heads="looked at",
    of_words="relation",
    memory=(900, 30, 6),
    minutes=(30, 1),
    batch_tokens=2048,
    seconds=11,
    judged=True,
)
COLUMNS = [
    *("attention", "layer", "head", "function", "offset"),
    *("accuracy", "ci_low", "ci_high", "without"),
    *("baseline_accuracy", "baseline_without", "n", "n_needed", "held"),
]
Settings = Thresholds

log = logging.getLogger(__name__)


def rows(seen: "Seen", settings: Thresholds) -> pd.DataFrame:
    from bottomup.core.device import device
    from bottomup.core.files.tables import read_table
    from bottomup.corpus.frequencies import shared_ranks
    from bottomup.corpus.tokens import TokenFile
    from bottomup.heads.functions import head_functions
    from bottomup.subjects.words import of_text, types_of

    tokens = TokenFile.load(seen.needed("text").parent)
    types, unaligned = tokens.ids, 0
    # A checkpoint has tokens of its own; then a token is as rare as its word.
    if written := seen.paths("written"):
        sentences = read_table(written[0], columns=["source"])["source"].tolist()
        words, _ = of_text(seen.subject, sentences, written[1])
        types, unaligned = types_of(words.tokens, tokens), sum(words.unaligned.values())
        tokens = words.tokens
    annotation = seen.file("annotation")
    table = head_functions(
        seen.subject.on(device()),
        tokens,
        annotation and read_table(annotation, columns=["sentence", "word", "relation", "head"]),
        types,
        shared_ranks(read_table(seen.needed("frequencies"), usecols=["token_id", "count"])),
        settings,
        seen.blocks,
        seen.batch_tokens,
        unaligned,
    )
    for function, of_function in table.groupby("function", sort=False):
        log.info("%s: %d of %d heads", function, of_function["held"].sum(), len(of_function))
    return table
