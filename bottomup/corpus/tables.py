"""Tables of pairs on disk, one column and one batch at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from bottomup.core.files import opening

BATCH_ROWS = 8192


@dataclass(frozen=True)
class Column:
    """A column of text in a Parquet file, as lists of rows; it can be read many times."""

    path: str | Path
    name: str

    def __iter__(self) -> Iterator[list[str]]:
        with opening(self.path), pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=[self.name]):
                yield batch.column(0).to_pylist()
