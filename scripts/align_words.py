"""Align the words of the test split with their translations.

Settings: languages (of source and target).
Inputs:  the token files of the splits test and train, source and target, and their tokenizers.
Outputs: a table of the aligned words, see bottomup.corpus.alignment.translations.
"""

import argparse
import logging
from pathlib import Path

from bottomup.plan import program
from bottomup.core.files.tables import write_table
from bottomup.core.files.tokenizers import load_tokenizer
from bottomup.core.settings import Section
from bottomup.corpus.alignment import translations
from bottomup.corpus.tokens import TokenFile


class Settings(Section):
    languages: list[str]


def main(arguments: argparse.Namespace) -> None:
    test, train = (
        (TokenFile.load(source), TokenFile.load(target))
        for source, target in (arguments.test, arguments.train)
    )
    source, target = map(load_tokenizer, arguments.tokenizers)
    languages = arguments.settings.languages
    aligned = translations(test, train, (source, target), languages)
    logging.info("%d words of %d sentences are aligned", len(aligned), len(test[0]))
    write_table(aligned, arguments.translations)


if __name__ == "__main__":
    parser = program.parser(__doc__, "translations")
    for split in ("test", "train"):
        parser.add_argument(
            f"--{split}", type=Path, nargs=2, required=True, help="folders of token files"
        )
    parser.add_argument("--tokenizers", type=Path, nargs=2, required=True)
    program.run(main, parser, Settings)
