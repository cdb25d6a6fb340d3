"""Measure which functions the encoder heads of one run have: positional, syntactic, rare tokens.

Settings: run (the columns that name it: objective and seed; for a pruned run also attention (whose
    heads were pruned), method and penalty); thresholds, that section of the config.
Inputs: the run's model folder; the token file of the test split, source side, and the blocks of its
    sentences; annotation.parquet, if its words are annotated; frequencies.csv.
Outputs: a table with a row for each layer, head with an open gate, and function.
"""

import logging
from pathlib import Path

from bottomup import program, subjects
from bottomup.corpus.frequencies import shared_ranks
from bottomup.corpus.tokens import TokenFile
from bottomup.device import device
from bottomup.files.arrays import load_array
from bottomup.files.tables import read_table
from bottomup.heads.functions import head_functions
from bottomup.measures import jackknife
from bottomup.settings import Section, Thresholds


class Settings(Section):
    run: dict[str, str | int | float | None]
    thresholds: Thresholds


def main(arguments):
    settings = arguments.settings
    columns = ["sentence", "word", "relation", "head"]
    tokens = TokenFile.load(arguments.tokens)
    table = head_functions(
        subjects.load(arguments.model),
        tokens,
        arguments.annotation and read_table(arguments.annotation, columns=columns),
        tokens.ids,
        shared_ranks(read_table(arguments.frequencies, usecols=["token_id", "count"])),
        settings.thresholds,
        load_array(arguments.blocks),
        arguments.batch_tokens,
        device(),
    )
    for function, rows in table.groupby("function", sort=False):
        logging.info(f"{function}: {rows['held'].sum()} of {len(rows)} heads")
    table = table.assign(**settings.run)
    columns = list(dict.fromkeys([*settings.run, *table]))
    jackknife.write(table[columns], arguments.table)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("model", "tokens", "blocks", "frequencies", "table"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--annotation", type=Path, nargs="?")
    parser.add_argument("--batch-tokens", type=int, required=True, help="tokens encoded at once")
    program.run(main, parser, Settings)
