"""What a table sees of one subject: the model, and the text that it reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bottomup import subjects
from bottomup.core.files.arrays import load_array
from bottomup.core.files.tables import read_table
from bottomup.core.settings import Measured, Null
from bottomup.subjects import Subject


@dataclass(frozen=True)
class Seen:
    """A model, and the files that it is looked at with.

    run: the columns that name it. folder: of the model. files: what the table reads, by name.
    batch_tokens: how many padded tokens to read at once. null: how rows are permuted, for a table
    that compares its values with those of permuted rows.
    """

    run: dict[str, Any]
    subject: Subject
    folder: Path
    files: Mapping[str, list[Path]] = field(default_factory=dict)
    batch_tokens: int = 2048
    null: Null | None = None

    def paths(self, name: str) -> list[Path]:
        """The files of that name; empty if the study has none."""
        return self.files.get(name, [])

    def file(self, name: str) -> Path | None:
        """The first file of that name; None if the study has none."""
        return next(iter(self.paths(name)), None)

    def needed(self, name: str) -> Path:
        """The first file of a name that every study has."""
        return self.files[name][0]

    @property
    def blocks(self) -> np.ndarray:
        """The block of documents of each sentence."""
        return load_array(self.needed("blocks"))

    def annotation(self, columns: list[str]) -> pd.DataFrame:
        """These columns of the annotation of words."""
        return read_table(self.needed("annotation"), columns=columns)


def see(files: Mapping[str, list[Path]], measured: Measured) -> Seen:
    """What a table sees: the model in `files["model"]`, and all files by their names in
    `Table.reads`."""
    folder = files["model"][0].parent
    return Seen(measured.run, subjects.load(folder), folder, files, null=measured.null)
