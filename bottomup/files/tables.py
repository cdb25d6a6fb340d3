"""Tables in files: .parquet, .csv, and .jsonl with one row a line."""

import os
from functools import partial
from pathlib import Path

import pandas as pd

from bottomup.files import damaged, opening

READERS = {
    ".csv": pd.read_csv,
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
    return table


def read_beside(first: Path | str, *others: Path | str, **options) -> pd.DataFrame:
    """The columns of tables in files, which have a row for the same things; options of pandas'
    reader are for the first.

    Raises UserError if one is damaged, or has another number of rows than the first.
    """
    tables = [read_table(first, **options), *map(read_table, others)]
    for path, table in zip(others, tables[1:], strict=True):
        if len(table) != len(tables[0]):
            raise damaged(path, f"it has {len(table)} rows, and {first} has {len(tables[0])}")
    return pd.concat(tables, axis=1)


def _ends_in_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return True
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"
