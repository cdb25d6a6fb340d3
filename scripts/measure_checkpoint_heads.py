"""Measure what the heads of a checkpoint attend to, and which functions they have.

Settings: run (objective and seed); thresholds, that section of the config.
Inputs:   the checkpoint's folder; test.parquet and tokenizer.words.json, whose words it reads; the
          token file of these words, the blocks of their sentences, annotation.parquet and
          word_frequencies.csv, of which a token is as rare as its word is.
Outputs:  two tables, as measure_head_importance makes one, with confidence and attention to special
          tokens alone, of all held-out text; and as measure_head_functions does. No sub-word stands
          for its word, whatever views.pooling says: weights to all of a word's are added, and of
          those from them the mean is taken.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from bottomup import program, subjects
from bottomup.corpus.frequencies import shared_ranks
from bottomup.corpus.tokens import TokenFile
from bottomup.device import device
from bottomup.heads.confidence import encoder_attention
from bottomup.heads.functions import head_functions
from bottomup.measures import jackknife
from bottomup.settings import Run, Section, Thresholds
from bottomup.subjects.words import of_text, types_of
from bottomup.tables import columns_of


class Settings(Section):
    run: Run
    thresholds: Thresholds


def main(arguments: argparse.Namespace) -> None:
    settings, subject = arguments.settings, subjects.load(arguments.model)
    blocks, text, tokenizer = np.load(arguments.blocks), *arguments.written
    sentences = pd.read_parquet(text, columns=["source"])["source"].tolist()
    words, _ = of_text(subject, sentences, tokenizer)
    found, order = encoder_attention(subject, words.tokens, arguments.batch_tokens, device())
    rows = [
        columns_of(settings.run) | row
        for name, totals in found.items()
        for row in totals.rows(name, blocks[order], jackknife.n_blocks(blocks))
    ]
    jackknife.write(rows, arguments.importance)
    columns = ["sentence", "word", "relation", "head"]
    functions = head_functions(
        subject,
        words.tokens,
        pd.read_parquet(arguments.annotation, columns=columns),
        types_of(words.tokens, TokenFile.load(arguments.words)),
        shared_ranks(pd.read_csv(arguments.frequencies, usecols=["token_id", "count"])),
        settings.thresholds,
        blocks,
        arguments.batch_tokens,
        device(),
        sum(words.unaligned.values()),
    )
    jackknife.write(functions.assign(**columns_of(settings.run)), arguments.functions)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("model", "words", "blocks", "annotation", "frequencies"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--written", type=Path, nargs=2, help="text and tokenizer of words")
    parser.add_argument("--importance", type=Path, required=True)
    parser.add_argument("--functions", type=Path, required=True)
    parser.add_argument("--batch-tokens", type=int, default=2048, help="tokens encoded at once")
    program.run(main, parser, Settings)
