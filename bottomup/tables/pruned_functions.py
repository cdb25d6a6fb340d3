"""Which functions the encoder heads that gates keep have, in models with fewer and fewer heads."""

from dataclasses import replace

from bottomup.tables.head_functions import COLUMNS, Settings, rows
from bottomup.tables.head_functions import TABLE as OF_WHOLE_MODELS

__all__ = ["COLUMNS", "TABLE", "Settings", "rows"]

TABLE = replace(
    OF_WHOLE_MODELS,
    part="pruned",
    reads=("pruned_model", "held_out", "known"),
    parts=lambda subjects: subjects.pruned_by_gates(),
    of_words="relation",
)
