"""Runs with fewer heads, fine-tuned under their objective, on token files."""

from pathlib import Path

import pandas as pd

from bottomup.heads import pruning


def prune(
    settings: pruning.Settings,
    code: dict[str, str] | None,
    text: list[Path],
    start: Path,
    gates: pd.DataFrame | None,
    *results,
) -> None:
    """As `bottomup.heads.pruning.prune`; text: token files of the splits train and dev."""
    pruning.prune(settings, code, text[0].parents[1], start, gates, *results)
