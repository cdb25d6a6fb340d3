"""Normalise pairs and drop those of no use for training.

Settings: min_words, max_words (words a side, inclusive), max_length_ratio (longer over shorter).
Inputs: pairs.parquet.
Outputs: clean.parquet; cleaning.csv, what each step did; cleaning_examples.csv.
"""

from bottomup import program
from bottomup.corpus.cleaning import clean
from bottomup.files.tables import read_table
from bottomup.settings import Cleaning


def main(arguments):
    settings = arguments.settings
    pairs, counts, examples = clean(
        read_table(arguments.pairs),
        settings.min_words,
        settings.max_words,
        settings.max_length_ratio,
    )
    pairs.to_parquet(arguments.clean, index=False)
    counts.to_csv(arguments.counts, index=False)
    examples.to_csv(arguments.examples, index=False)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("pairs", "clean", "counts", "examples"):
        parser.add_argument(f"--{name}", required=True)
    program.run(main, parser, Cleaning)
