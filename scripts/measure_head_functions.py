"""Measure which functions the encoder heads of one run have: positional, syntactic, rare tokens.

Settings: run (columns that name it: objective and seed; of a pruned run also attention, whose heads
    were pruned, method and penalty); thresholds {positional, syntactic, rare, rare_rank} (see
    bottomup.heads.functions.Thresholds).
Inputs: the run's model folder; the token file of the test split, source side, and the blocks of its
    sentences; annotation.parquet, of its words; frequencies.csv.
Outputs: a table with a row for each layer, head with an open gate, and function.
"""

import logging
from pathlib import Path

import numpy as np
import pandas as pd

from bottomup import program, subjects
from bottomup.corpus.specials import N_SPECIAL
from bottomup.corpus.tokens import TokenFile
from bottomup.device import device
from bottomup.heads.functions import Thresholds, head_functions
from bottomup.measures import jackknife


def main(arguments):
    settings = arguments.settings
    columns = ["sentence", "word", "relation", "head"]
    table = head_functions(
        subjects.load(arguments.model),
        TokenFile.load(arguments.tokens),
        pd.read_parquet(arguments.annotation, columns=columns),
        shared_ranks(pd.read_csv(arguments.frequencies, usecols=["token_id", "count"])),
        Thresholds(**settings["thresholds"]),
        np.load(arguments.blocks),
        arguments.batch_tokens,
        device(),
    )
    for function, rows in table.groupby("function", sort=False):
        logging.info(f"{function}: {rows['held'].sum()} of {len(rows)} heads")
    table = table.assign(**settings["run"])
    columns = list(dict.fromkeys([*settings["run"], *table]))
    jackknife.write(table[columns], arguments.table)


def shared_ranks(frequencies):
    """Ranks by token id; equally frequent tokens share the best of theirs."""
    # <unk> is no token of the training text: rarer than all.
    ranks = np.full(N_SPECIAL + len(frequencies), len(frequencies) + 1)
    shared = frequencies["count"].rank(method="min", ascending=False)
    ranks[frequencies["token_id"]] = shared.astype(int)
    return ranks


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("model", "tokens", "blocks", "annotation", "frequencies", "table"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--batch-tokens", type=int, default=2048, help="tokens encoded at once")
    program.run(main, parser)
