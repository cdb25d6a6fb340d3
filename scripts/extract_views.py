"""Extract the views of one run under one reading: an array of all layers.

Settings: dtype (float16 or float32).
Inputs:   the run's model folder; the reading's token file and table of occurrences; where these
          are words: test.parquet and tokenizer.words.json, whose words they are.
Outputs:  an array [layers + 1, n_occurrences, d_model]; NaN for words that the run's tokenizer
          cannot tell from others, or that are cut off.
"""

import argparse
import logging
from pathlib import Path

import numpy as np
import pandas as pd

from bottomup import program, subjects
from bottomup.corpus.tokens import TokenFile
from bottomup.device import device
from bottomup.settings import Views
from bottomup.subjects.words import of_occurrences
from bottomup.views.extraction import extract


def main(arguments: argparse.Namespace) -> None:
    subject = subjects.load(arguments.model)
    text = TokenFile.load(arguments.text)
    columns = ["text", "sentence", "position"]
    table = pd.read_parquet(arguments.occurrences, columns=columns)
    if arguments.written:
        words, positions = of_occurrences(subject, table, *arguments.written)
        text, table = words.tokens, table.assign(position=positions)
        counts = ", ".join(f"{count} {reason}" for reason, count in words.unaligned.items())
        logging.info(
            f"{np.sum(positions < 0)} of {len(table)} words are not seen; in all: {counts}"
        )
        logging.info(f"{words.cut} of {len(text)} sentences are cut off")
    extract(
        subject,
        text,
        table,
        arguments.views,
        arguments.settings.dtype,
        arguments.batch_tokens,
        device(),
    )


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True, help="folder of the token file")
    parser.add_argument("--occurrences", type=Path, required=True)
    parser.add_argument("--written", type=Path, nargs="*", help="text and tokenizer of words")
    parser.add_argument("--views", type=Path, required=True)
    parser.add_argument("--batch-tokens", type=int, required=True, help="tokens encoded at once")
    program.run(main, parser, Views)
