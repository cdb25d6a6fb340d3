"""Tables in files: .parquet, .csv, and .jsonl with one row a line."""

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from bottomup.core.errors import UserError
from bottomup.core.files import damaged, opening

# The column of every table of estimates with the values without each block of documents,
# `[n_blocks]`. Names of further such columns end in it.
WITHOUT = "without"
# Columns that are text, whatever stands in them: a word may be 10, an objective called true.
TEXT = (
    *("objective", "objective_a", "objective_b", "from_objective", "series"),
    *("token", "word", "word_a", "word_b"),
)
READERS = {
    # Only what is empty is missing: an objective or a token may be called "null".
    ".csv": partial(
        pd.read_csv, keep_default_na=False, na_values=[""], dtype=dict.fromkeys(TEXT, str)
    ),
    ".parquet": pd.read_parquet,
    ".jsonl": partial(pd.read_json, lines=True),
}


def read_table(path: Path | str, **options) -> pd.DataFrame:
    """The table in a file, with options of pandas' reader; UserError if the file is damaged."""
    path = Path(path)
    with opening(path):
        table = READERS[path.suffix](path, **options)
        # pandas would read a truncated line as one with empty cells, or with a shorter number.
        if path.suffix != ".parquet" and not _ends_in_a_line(path):
            raise damaged(path, "its last line is cut off")
        if where := _infinite(table):
            raise damaged(path, f"it has infinity {where}")
    return table


def read_beside(first: Path | str, *others: Path | str, **options) -> pd.DataFrame:
    """Tables in files, side by side: row i of each is about the same thing.

    options: of pandas' reader, for the first table.

    Raises UserError if one is damaged, or has another number of rows than the first.
    """
    tables = [read_table(first, **options), *map(read_table, others)]
    for path, table in zip(others, tables[1:], strict=True):
        if len(table) != len(tables[0]):
            raise damaged(path, f"it has {len(table)} rows, and {first} has {len(tables[0])}")
    return pd.concat(tables, axis=1)


def below(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """The parts of a table, of which there is at least one, below each other.

    Parts without rows are left out, since their columns have no type. A model without heads has
    such a part in a table of heads.
    """
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def write_table(table: pd.DataFrame, path: Path | str) -> None:
    """Write a table, without its index, as .csv or .parquet; UserError if a number is infinite.

    A missing value is NaN. Infinity is no measurement: it comes from a division by zero or from a
    run that has diverged, and what reads it would be wrong or fail.
    """
    path = Path(path)
    if where := _infinite(table):
        raise UserError(
            f"{path} would have infinity {where}; allowed: finite numbers, or nothing; look for a "
            f"run that has diverged"
        )
    if path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    else:
        table.to_csv(path, index=False)


def write_estimates(table: pd.DataFrame, paths: Iterable[Path]) -> None:
    """Write a table of estimates: whole as .parquet, as .csv without arrays (`WITHOUT`)."""
    arrays = [name for name in table if name.endswith(WITHOUT)]
    for path in paths:
        write_table(table if path.suffix == ".parquet" else table.drop(columns=arrays), path)


def _infinite(table: pd.DataFrame) -> str:
    """Where the first infinite number is, or ""."""
    for name, column in table.items():
        if column.dtype.kind == "f":
            infinite = np.isinf(column.to_numpy())
        elif column.dtype == object:  # values without each block
            infinite = [
                isinstance(x, np.ndarray) and x.dtype.kind == "f" and np.isinf(x).any()
                for x in column
            ]
        else:
            continue
        if np.any(infinite):
            return f"in the column {name}, row {int(np.flatnonzero(infinite)[0])}"
    return ""


def _ends_in_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return True
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"
