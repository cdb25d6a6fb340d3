"""Give each occurrence the annotation of its word.

Inputs:  annotation.parquet, if words are annotated; the table and the token file of a reading.
Outputs: a table with a row for each occurrence, see bottomup.views.annotations.annotations.
"""

import argparse

from bottomup.plan import program
from bottomup.core.files.tables import read_table
from bottomup.corpus.tokens import TokenFile
from bottomup.views.annotations import annotations


def main(arguments: argparse.Namespace) -> None:
    table = annotations(
        read_table(arguments.occurrences),
        TokenFile.load(arguments.text),
        read_table(arguments.annotation) if arguments.annotation else None,
    )
    table.to_parquet(arguments.annotations)


if __name__ == "__main__":
    parser = program.parser(__doc__, "occurrences", "annotations", "text")
    parser.add_argument("--annotation", nargs="?")
    program.run(main, parser)
