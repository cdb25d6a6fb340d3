"""Annotate the words of the test split's source side.

Settings: annotator (a module of bottomup/corpus/annotation), told_by (its source: the module of a
          spaCy pipeline, or the folder of a treebank), categories (whether to give CCG categories),
          depccg_model (folder of an English model of depccg; None derives them from the trees),
          content (a digest of the files of treebank and model, if any).
Inputs:   test.parquet, with the text in its original case; tokenizer.source.json; the token file
          with these words.
Outputs:  a row for each word, see bottomup.corpus.annotation.pipeline.annotate and
          bottomup.corpus.ccg.categories.
"""

import argparse
import importlib
import logging

import pandas as pd

from bottomup.plan import program
from bottomup.core.files.tokenizers import load_tokenizer
from bottomup.core.settings import Section
from bottomup.corpus import annotation, ccg
from bottomup.corpus.tokens import TokenFile


class Settings(Section):
    annotator: str
    told_by: str
    categories: bool
    depccg_model: str | None
    content: str | None = None


def main(arguments: argparse.Namespace) -> None:
    settings = arguments.settings
    annotator = importlib.import_module(f"bottomup.corpus.annotation.{settings.annotator}")
    tokenizer = load_tokenizer(arguments.tokenizer)
    table = annotator.annotated(arguments.text, tokenizer, settings.told_by)
    annotation.require_words_of(TokenFile.load(arguments.tokens), table)
    if settings.categories:
        table = pd.concat([table, ccg.categories(table, settings.depccg_model)], axis=1)
    logging.info(", ".join(f"{table[name].nunique()} of {name}" for name in table))
    table.to_parquet(arguments.annotation)


if __name__ == "__main__":
    parser = program.parser(__doc__, "text", "tokenizer", "tokens", "annotation")
    program.run(main, parser, Settings)
