"""What metrics.jsonl tells of a run: a row for each evaluation of the dev loss."""

import pandas as pd


def early(metrics: pd.DataFrame) -> pd.Series:
    """Which evaluations were before a schedule's last phase, or before each part of a mix had an
    update; of others none."""
    return metrics.get("early", pd.Series(False, metrics.index))


def candidates(metrics: pd.DataFrame) -> pd.DataFrame:
    """The evaluations whose weights a run may end with: those that are not `early`, or the last
    one."""
    before = early(metrics)
    return metrics.tail(1) if before.all() else metrics[~before]
