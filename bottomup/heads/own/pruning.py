"""Checkpoints with fewer heads, fine-tuned under their own objective, in their own tokens."""

from pathlib import Path

import pandas as pd

from bottomup.heads import pruning_checkpoints
from bottomup.heads.pruning import Settings


def prune(
    settings: Settings,
    code: dict[str, str] | None,
    text: list[Path],
    start: Path,
    gates: pd.DataFrame | None,
    *results,
) -> None:
    """As `bottomup.heads.pruning.prune`, by gates alone; text: train.parquet and dev.parquet."""
    if gates is not None:
        raise ValueError("a checkpoint is pruned by gates alone")
    files = {file.stem: file for file in text}
    pruning_checkpoints.prune(settings, code, start, files["train"], files["dev"], *results)
