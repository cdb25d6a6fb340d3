"""Count the words that a run's tokenizer cannot tell from others, or that are cut off.

Settings: objective and seed.
Inputs:   the run's model folder; the table of occurrences, which are words; test.parquet and
          tokenizer.words.json, which has these words.
Outputs:  a table with rows for two texts: `occurrences`, the sentences of views and influence, and
          `test`, those of the whole split, on which the heads of checkpoints are judged.
"""

import argparse
from pathlib import Path

import pandas as pd

from bottomup import program, subjects
from bottomup.corpus.losses import Loss, tell
from bottomup.files.tables import read_table, write_table
from bottomup.settings import Run
from bottomup.subjects.words import of_occurrences, of_text
from bottomup.tables import columns_of


def main(arguments: argparse.Namespace) -> None:
    subject = subjects.load(arguments.model)
    text, tokenizer = arguments.written
    table = read_table(arguments.occurrences, columns=["text", "sentence", "position"])
    sentences = read_table(text, columns=["source"])["source"].tolist()
    texts = {
        "occurrences": of_occurrences(subject, table, text, tokenizer)[0],
        "test": of_text(subject, sentences, tokenizer)[0],
    }
    rows = [
        columns_of(arguments.settings) | {"text": name} | row
        for name, words in texts.items()
        for row in words.not_read()
    ]
    name = arguments.settings.objective
    tell(
        [
            Loss(
                f"reading {row['text']}, {row['reason']}",
                f"checkpoints.{name}",
                *(row["n"], row["total"], row["unit"]),
            )
            for row in rows
        ]
    )
    write_table(pd.DataFrame(rows), arguments.table)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("model", "occurrences", "table"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--written", type=Path, nargs=2, required=True, help="as in extract_views")
    program.run(main, parser, Run)
