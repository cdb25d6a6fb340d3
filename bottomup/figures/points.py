"""From measured and published tables to the points of a figure, one row a point.

A figure draws nothing but its points, so their CSV holds exactly what is seen.
"""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from bottomup.core.errors import UserError
from bottomup.tables import cases, too_few

COLUMNS = ["panel", "series", "quantity", "x", "y", "low", "high", "runs", "n", "source"]

Tables = dict[str, pd.DataFrame]


class NoRowsError(UserError):
    """There is nothing to draw: a table has no rows, or none of what a figure shows. This ends no
    study: little text, small models and checkpoints leave some figures without a point."""


def table(tables: Tables, name: str, columns: list[str]) -> pd.DataFrame:
    """The table called `name`; UserError if it, its rows or one of `columns` is missing. A table
    without rows may have no columns."""
    if name not in tables:
        names = ", ".join(tables) or "none"
        raise UserError(f"table {name!r} is missing; found {names}; give it, too")
    if tables[name].empty:
        # It may have had some, which rest on too few cases.
        raise NoRowsError(f"table {name!r} has no rows to draw; a figure needs at least one")
    missing = [column for column in columns if column not in tables[name]]
    if missing:
        raise UserError(
            f"table {name!r} has no column {', '.join(missing)}; it needs {', '.join(columns)}; "
            f"give the one that the workflow makes now, the .parquet where there is one"
        )
    return tables[name]


def select(tables: Tables, name: str, columns: Iterable[str], **wanted: Any) -> pd.DataFrame:
    """The rows of the table `name` with these values, see `having`."""
    return having(table(tables, name, list(dict.fromkeys([*columns, *wanted]))), name, **wanted)


def having(rows: pd.DataFrame, name: str, **wanted: Any) -> pd.DataFrame:
    """The rows, of the table `name`, with these values by column; of a list one of its values.

    Raises NoRowsError if there are none, naming the values that there are.
    """
    some = {k: v if isinstance(v, list) else [v] for k, v in wanted.items()}
    for column, values in some.items():
        before, rows = rows, rows[rows[column].isin(values)]
        if rows.empty:
            found = sorted(before[column].convert_dtypes().astype(str).unique())
            asked = (f"{k} {' or '.join(map(str, v))}" for k, v in some.items())
            raise NoRowsError(
                f"the table {name} has no rows with {', '.join(asked)}; found {column} "
                f"{', '.join(found) or 'none'}"
            )
    return rows


def by_layer(rows: pd.DataFrame, **names: str) -> pd.DataFrame:
    """The rows from the lowest layer up, with the objective as `series` and the layer as `x`;
    names: what other columns are called."""
    return rows.rename(columns={"objective": "series", "layer": "x"} | names).sort_values("x")


def in_order(rows: pd.DataFrame, column: str, names: Iterable[str]) -> pd.DataFrame:
    """The rows in the order in which `names` has the values of a column; within each as before."""
    place = {name: number for number, name in enumerate(names)}
    return rows.sort_values(column, key=lambda values: values.map(place), kind="stable")


def published_in(tables: Tables, name: str) -> pd.DataFrame:
    """The published figure of this name, if it is given, else one without curves."""
    return tables.get(name, pd.DataFrame(columns=["panel", "series", "x", "y"]))


def that_rest_on_enough(tables: Tables) -> tuple[Tables, str]:
    """The tables without the rows whose value rests on fewer cases than it needs, and a line about
    what was left out, or "".

    A row says how many cases it rests on in `n_occurrences` or `n`, and how many it needs in
    `n_needed`.
    """
    kept, lines = {}, []
    for name, rows in tables.items():
        few = too_few(rows)
        kept[name] = rows[~few].reset_index(drop=True) if few.any() else rows
        if few.any():
            n_cases, needed = cases(rows)[few], rows.loc[few, "n_needed"]
            lines.append(
                f"{name.replace('_', ' ')}: {few.sum():,} of {len(rows):,} values are left out, "
                f"which rest on too few cases: {_span(n_cases)}, where {_span(needed)} are needed"
            )
    return kept, "\n".join(lines)


def _span(numbers: pd.Series) -> str:
    least, most = (f"{int(number):,}" for number in (numbers.min(), numbers.max()))
    return least if least == most else f"{least} to {most}"


def over_seeds(rows: pd.DataFrame, value: str, by: list[str]) -> pd.DataFrame:
    """Mean over seeds (`y`), the lowest and highest seed (`low`, `high`) and how many there are
    (`runs`): a row for each group.

    A single seed has no range; `low` and `high` are then empty.
    """
    groups = rows.groupby(by, sort=False)[value]
    summary = groups.agg(y="mean", low="min", high="max", runs="size").reset_index()
    summary.loc[summary["runs"] == 1, ["low", "high"]] = float("nan")
    return summary


def of_one_run(rows: pd.DataFrame) -> pd.DataFrame:
    """`rows`, as in `means.over_runs`, of which no two are of one curve at one place: each with its
    own interval, over documents, if that has a width."""
    names = {"value": "y", "ci_low": "low", "ci_high": "high", "n_occurrences": "n"}
    curves = rows.rename(columns=names).assign(runs=1)
    curves.loc[curves["low"] == curves["high"], ["low", "high"]] = float("nan")
    return curves


def points(rows: pd.DataFrame, source: str = "ours", **columns) -> pd.DataFrame:
    """`rows` (with some of `COLUMNS`) as points; `columns` are the same for all rows."""
    return rows.assign(source=source, **columns).reindex(columns=COLUMNS)


def join(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Points together, in the order of `parts`."""
    filled = [part for part in parts if len(part)]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=COLUMNS)
