"""Split pairs by document into train, dev and test.

Settings: seed, test_words, dev_words (source words); near_duplicates (drop or keep near-duplicates
    of training sentences in dev and test); packed_words (of passages, or null).
Inputs: clean.parquet.
Outputs: train.parquet, dev.parquet, test.parquet; splits.csv, their sizes.
"""

from bottomup.plan import program
from bottomup.core.files.tables import read_table
from bottomup.core.settings import Splits
from bottomup.corpus.splits import SPLITS, split


def main(arguments):
    tables, counts = split(read_table(arguments.pairs), **dict(arguments.settings))
    for name in SPLITS:
        tables[name].to_parquet(getattr(arguments, name), index=False)
    counts.to_csv(arguments.counts, index=False)


if __name__ == "__main__":
    program.run(main, program.parser(__doc__, "pairs", *SPLITS, "counts"), Splits)
