"""Means over runs and documents, and differences in pairs, with their intervals."""

import numpy as np
import pandas as pd

from bottomup.core.errors import UserError
from bottomup.measures import jackknife
from bottomup.measures.jackknife import ANY, WITHOUT, Range
from bottomup.measures.over_runs import interval, mean, without_blocks

SEEDS = ("seed", "seed_a", "seed_b")
RUNS = ("objective", "objective_a", "objective_b", *SEEDS)
COUNTS = ("n_occurrences", "n")


def over_runs(rows: pd.DataFrame, by: list[str], within: Range) -> pd.DataFrame:
    """The mean over runs and documents: a row for each group of `by`.

    rows: values of runs or of pairs of runs, in the columns `value`, `ci_low`, `ci_high`, `WITHOUT`
    (without each block of documents), those of seeds, and where it applies `noise`, the standard
    error due to other draws than that of the text. within: what a value can be.

    `y` is the mean and `low` and `high` its 95 % interval, empty where it is not known. `runs` is
    the number of seeds that the interval is about; if it is 1, the interval is about documents
    alone. `n` is the least number of cases that a value rests on, if rows say so.

    Raises UserError if a group has several values of one run, which would count as runs.
    """
    rows = rows.dropna(subset="value")
    if several := _several(rows, by):
        raise UserError(
            f"several values of one run that differ in {', '.join(several)}; choose one, or draw "
            "each by itself"
        )
    groups = rows.groupby(by, sort=False)
    means = [dict(zip(by, key, strict=True)) | _over_runs(of, within) for key, of in groups]
    return pd.DataFrame(means, columns=[*by, "y", "low", "high", "runs", "n"])


def _several(rows: pd.DataFrame, by: list[str]) -> list[str]:
    """The columns left of the values in which rows of one group and run differ."""
    about = [*by, *(name for name in RUNS if name in rows and name not in by)]
    again = rows[rows.duplicated(about, keep=False)]
    left = again.columns[: again.columns.get_loc("value")].difference(about, sort=False)
    return [name for name in left if again.groupby(about)[name].nunique(dropna=False).max() > 1]


def _over_runs(rows: pd.DataFrame, within: Range) -> dict:
    n = min((rows[name].min() for name in COUNTS if name in rows), default=np.nan)
    values = rows["value"].to_numpy(float)
    point = {"y": values.mean(), "low": rows["ci_low"].iloc[0], "high": rows["ci_high"].iloc[0]}
    if len(rows) == 1:
        return point | {"runs": 1, "n": n}
    noise = rows["noise"].to_numpy(float) if "noise" in rows else np.zeros(len(rows))
    seeds = rows[[name for name in SEEDS if name in rows]].to_numpy()
    estimates = mean(values, without_blocks(rows["value"], rows[WITHOUT]), noise, seeds)
    low, high = interval(estimates, within)
    return point | {"low": low, "high": high, "runs": estimates.n_runs, "n": n}


def less(rows: pd.DataFrame, others: pd.DataFrame, on: list[str], within: Range) -> pd.DataFrame:
    """`rows` less those of `others` with the same values in `on`; rows without such others go.

    Both have columns as in `over_runs`; within: what their values can be. Differences are taken
    block by block, so that what comes from the text that both read cancels; a difference of equal
    values has no interval.
    """
    columns = [name for name in ("value", WITHOUT, "noise") if name in rows]
    both = rows.merge(others[[*on, *columns]], on=on, suffixes=("", "_other"))
    values = both["value"] - both["value_other"]
    without = without_blocks(both["value"], both[WITHOUT])
    without = without - without_blocks(both["value_other"], both[f"{WITHOUT}_other"])
    noise = np.hypot(both["noise"], both["noise_other"]) if "noise" in rows else 0.0 * values
    bounds = [
        jackknife.interval(value, of_blocks, within.of_differences, noise=of_draws)
        for value, of_blocks, of_draws in zip(values, without, noise, strict=True)
    ]
    differences = both.assign(value=values, noise=noise, **{WITHOUT: [*without]})
    differences[["ci_low", "ci_high"]] = np.reshape(bounds, (-1, 2))
    return differences[list(dict.fromkeys([*rows, "noise"]))]


def since_layer_0(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """`rows` of nats, as in `over_runs`, less those of layer 0 (`x`) of the same run and group
    `by`."""
    change = less(rows, rows[rows["x"] == 0], [*by, "seed"], ANY)
    change.loc[change["x"] == 0, "noise"] = 0.0  # of two draws, of which here is one
    return change


def over_layers(rows: pd.DataFrame, by: list[str], within: Range) -> pd.DataFrame:
    """The mean over the rows of each group of `by`, a run's layers, with its interval over
    documents: columns as in `over_runs`. A layer without a value leaves the group without one."""
    means = []
    for key, of in rows.groupby(by, sort=False):
        value = of["value"].mean(skipna=False)
        without = without_blocks(of["value"], of[WITHOUT]).mean(0)
        low, high = jackknife.interval(value, without, within)
        row = {"value": value, "ci_low": low, "ci_high": high, WITHOUT: without}
        means.append(dict(zip(by, key, strict=True)) | row)
    return pd.DataFrame(means, columns=[*by, "value", "ci_low", "ci_high", WITHOUT])
