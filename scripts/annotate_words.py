"""Annotate the words of the test split's source side.

Settings: pipeline (module of a spaCy pipeline), depccg_model (folder of an English model of
          depccg; None derives CCG categories from the trees).
Inputs:   test.parquet, whose text has the case that it was written in; tokenizer.source.json; the
          token file, whose words these are.
Outputs:  a row for each word, see bottomup.corpus.annotation.annotate and, of English ones,
          bottomup.corpus.ccg.categories.
"""

import argparse
import logging
from pathlib import Path

import pandas as pd

from bottomup import program
from bottomup.corpus import annotation, ccg
from bottomup.corpus.tables import Column
from bottomup.corpus.tokens import TokenFile
from bottomup.files.tokenizers import load_tokenizer
from bottomup.settings import Annotation


def main(arguments: argparse.Namespace) -> None:
    settings = arguments.settings
    pipeline = annotation.load(settings.pipeline)
    tokenizer = load_tokenizer(arguments.tokenizer)
    table = annotation.annotate(Column(arguments.text, "source"), tokenizer, pipeline)
    annotation.require_words_of(TokenFile.load(arguments.tokens), table)
    if pipeline.lang == "en":
        table = pd.concat([table, ccg.categories(table, settings.depccg_model)], axis=1)
    logging.info(", ".join(f"{table[name].nunique()} of {name}" for name in table))
    table.to_parquet(arguments.annotation)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("text", "tokenizer", "annotation"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--tokens", type=Path, required=True, help="folder of the token file")
    program.run(main, parser, Annotation)
