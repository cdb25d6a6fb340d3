"""Which functions the encoder heads that gates keep have, in models with fewer and fewer heads.

Rows: as those of head_functions.
"""

from bottomup.tables import Table
from bottomup.tables.head_functions import COLUMNS, Settings, rows

__all__ = ["COLUMNS", "TABLE", "Settings", "rows"]

TABLE = Table(
    "pruned",
    reads=("pruned_model", "held_out"),
    sees="subjects",
    parts=lambda subjects: subjects.pruned_by_gates(),
    options=lambda slices, of: slices.study.heads.thresholds,
    of_heads="looked at",
    memory=(900, 30, 6),
    minutes=(30, 1),
    batch_tokens=2048,
    seconds=11,
    judged=True,
)
