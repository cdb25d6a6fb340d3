"""What metrics.jsonl tells of a run: a row for each evaluation of the dev loss."""

import pandas as pd


def early(metrics: pd.DataFrame) -> pd.Series:
    """Which evaluations of a schedule were before its last phase; of others none."""
    return metrics.get("early", pd.Series(False, metrics.index))


def candidates(metrics: pd.DataFrame) -> pd.DataFrame:
    """The evaluations whose weights a run may end with: of a schedule those of its last phase, or
    the last one."""
    before = early(metrics)
    return metrics.tail(1) if before.all() else metrics[~before]
