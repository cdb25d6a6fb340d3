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


def _ends_in_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return True
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"
