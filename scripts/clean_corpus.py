"""Normalize pairs and drop those of no use for training.

Settings: min_words, max_words (words a side, inclusive), max_length_ratio (longer over shorter);
          origins (the sources, in the order of their pairs); languages (of the sides).
Inputs: the pairs of each source.
Outputs: clean.parquet; cleaning.csv, what each step did; cleaning_examples.csv.
"""

import csv

from bottomup.plan import program
from bottomup.core.files.tables import read_table
from bottomup.core.settings import Cleaning
from bottomup.corpus.cleaning import clean, joined


class Settings(Cleaning):
    origins: list[str]
    languages: list[str]


def main(arguments):
    settings = arguments.settings
    tables = map(read_table, arguments.pairs)
    pairs, counts, examples = clean(
        joined(dict(zip(settings.origins, tables, strict=True))),
        settings.languages,
        settings.min_words,
        settings.max_words,
        settings.max_length_ratio,
    )
    pairs.to_parquet(arguments.clean, index=False)
    counts.to_csv(arguments.counts, index=False)
    # In quotes, since raw text may have a carriage return, at which readers would end the row.
    examples.to_csv(arguments.examples, index=False, quoting=csv.QUOTE_NONNUMERIC)


if __name__ == "__main__":
    parser = program.parser(__doc__, "clean", "counts", "examples")
    parser.add_argument("--pairs", required=True, nargs="+")
    program.run(main, parser, Settings)
