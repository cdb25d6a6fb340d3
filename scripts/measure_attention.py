"""Record what each head of a subject attends to in a few short held-out sentences.

Settings: run (objective and seed); sentences (of the test split) and the seed of their draw.
Inputs:   the subject's model folder; test.parquet; if it translates, the tokenizer of the target
          side, since a decoder predicts the reference.
Outputs:  a table with a row for each head, sentence, and pair of tokens; without rows of a model
          whose attention cannot be looked at.
"""

import argparse
import logging
from pathlib import Path

import pandas as pd

from bottomup import program, subjects
from bottomup.files.tables import read_table
from bottomup.files.tokenizers import load_tokenizer
from bottomup.heads.attention import COLUMNS, attention, rows, short
from bottomup.settings import Run, Section
from bottomup.tables import columns_of


class Settings(Section):
    run: Run
    sentences: int
    seed: int


def main(arguments: argparse.Namespace) -> None:
    settings, subject = arguments.settings, subjects.load(arguments.model)
    tokenizer = arguments.tokenizer and load_tokenizer(arguments.tokenizer)
    text = read_table(arguments.test)
    parts = [pd.DataFrame(columns=COLUMNS)]
    sentences = short(text["source"], settings.sentences, settings.seed)
    if not subject.heads:
        logging.info("left out: %s", subject.without_heads())
    for sentence in sentences if subject.heads else ():
        target = text["target"][sentence] if tokenizer else None
        for kind in attention(subject, text["source"][sentence], target, tokenizer):
            parts.append(rows(*kind).assign(sentence=sentence))
    table = pd.concat(parts[1:] or parts, ignore_index=True)[COLUMNS]
    run = columns_of(settings.run)
    table.assign(**run)[[*run, *COLUMNS]].to_parquet(arguments.table)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("model", "test", "table"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, nargs="?", help="of the target side")
    program.run(main, parser, Settings)
