"""The text of a treebank in CoNLL-U, as Universal Dependencies publishes them.

With `annotation.pipeline: gold`, what the treebank says of its words is what is known of them.
"""

from pathlib import Path

import pandas as pd
from pydantic import Field, field_validator

from bottomup.corpus import treebank
from bottomup.corpus.sources import SourceOptions
from bottomup.settings import Folder


class Options(SourceOptions):
    """Which treebank; a relative path starts from the folder in which the workflow runs."""

    folder: Folder = Field(description="that holds *.conllu files, at some depth")

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

    Raises UserError where a file is no CoNLL-U.
    """
    found = treebank.sentences(treebank.files_in(options.folder))
    rows = [(sentence.document, sentence.name, sentence.text) for sentence in found]
    text = pd.DataFrame(rows, columns=["document", "element", "source"], dtype=str)
    return text.assign(target="")
