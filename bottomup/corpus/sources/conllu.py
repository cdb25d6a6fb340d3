"""The text of a treebank in CoNLL-U, the format of Universal Dependencies.

With `annotation.pipeline: gold`, the treebank also gives the annotation of its words.
"""

from pathlib import Path
from typing import ClassVar

import pandas as pd
from pydantic import Field, field_validator

from bottomup.core.settings import Folder
from bottomup.corpus import treebank
from bottomup.corpus.losses import carry, tell
from bottomup.corpus.sources import SourceOptions


class Options(SourceOptions):
    """Which treebank; a relative path starts from the folder in which the workflow runs."""

    monolingual: ClassVar[bool] = True
    folder: Folder = Field(description="folder with *.conllu files at some depth")

    @field_validator("languages")
    @classmethod
    def one_language(cls, languages: tuple[str, ...]) -> tuple[str, ...]:
        if len(languages) > 1:
            raise ValueError("a treebank has no translation; allowed: one language")
        return languages

    @field_validator("folder")
    @classmethod
    def has_files(cls, folder: Path) -> Path:
        if not treebank.files_in(folder):
            raise ValueError("allowed: a folder with *.conllu files, at some depth")
        return folder

    def read_files(self) -> list[str]:
        return [str(path) for path in treebank.files_in(self.folder)]


def fetch(options: Options, download_folder: Path) -> pd.DataFrame:
    """The sentences in the order of the files; an element is named by its sent_id.

    Raises UserError if a file is not CoNLL-U.
    """
    sentences, lost = treebank.sentences(treebank.files_in(options.folder))
    rows = [(sentence.document, sentence.name, sentence.text) for sentence in sentences]
    return carry(pd.DataFrame(rows, columns=options.columns, dtype=str), tell([lost]))
