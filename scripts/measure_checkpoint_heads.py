"""Measure how important the heads of a checkpoint are, and which functions they have.

Settings: run (objective and seed); sentences (of the dev split) and seed (of sentences and masks),
          for gradient and loss; thresholds, that section of the config.
Inputs:   the checkpoint's folder; test.parquet and tokenizer.words.json, with the words it reads;
          the token file of these words, the blocks of their sentences, annotation.parquet if they
          are annotated, and word_frequencies.csv (a token is as rare as its word); dev.parquet and
          the blocks of its sentences.
Outputs:  two tables. One is as from measure_head_importance: confidence and attention to special
          tokens are those on the whole test split, gradient and loss those under the checkpoint's
          own objective, if it has one. The other is as from measure_head_functions. No sub-word
          stands for its word, whatever views.pooling says: weights to the sub-words of a word are
          added, and weights from them averaged.
"""

import argparse
import logging
from pathlib import Path

import numpy as np

from bottomup import program, subjects
from bottomup.corpus.frequencies import shared_ranks
from bottomup.corpus.tokens import TokenFile
from bottomup.device import device
from bottomup.files.arrays import load_array
from bottomup.files.joins import require_equal_lengths
from bottomup.files.tables import read_table
from bottomup.heads.confidence import encoder_attention
from bottomup.heads.examples import sample
from bottomup.heads.functions import head_functions
from bottomup.heads.importance import gate_gradient, loss_increase
from bottomup.heads.own_objective import CheckpointPredictor, objective_of, references, text_of
from bottomup.heads.totals import Totals
from bottomup.measures import jackknife
from bottomup.settings import Run, Section, Thresholds
from bottomup.subjects import Subject
from bottomup.subjects.words import of_text, types_of
from bottomup.tables import columns_of


class Settings(Section):
    run: Run
    sentences: int
    seed: int
    thresholds: Thresholds


def main(arguments: argparse.Namespace) -> None:
    settings, subject = arguments.settings, subjects.load(arguments.model)
    blocks, text, tokenizer = load_array(arguments.blocks), *arguments.written
    sentences = read_table(text, columns=["source"])["source"].tolist()
    words, _ = of_text(subject, sentences, tokenizer)
    require_equal_lengths(sentences=sentences, blocks=blocks)
    found, order = encoder_attention(subject, words.tokens, arguments.batch_tokens, device())
    rows = rows_of(found, blocks[order], jackknife.n_blocks(blocks))
    dev_blocks = load_array(arguments.dev_blocks)
    found, some = owed_to_heads(subject, arguments)
    rows += rows_of(found, dev_blocks[some], jackknife.n_blocks(dev_blocks))
    jackknife.write([columns_of(settings.run) | row for row in rows], arguments.importance)
    columns = ["sentence", "word", "relation", "head"]
    functions = head_functions(
        subject,
        words.tokens,
        arguments.annotation and read_table(arguments.annotation, columns=columns),
        types_of(words.tokens, TokenFile.load(arguments.words)),
        shared_ranks(read_table(arguments.frequencies, usecols=["token_id", "count"])),
        settings.thresholds,
        blocks,
        arguments.batch_tokens,
        device(),
        sum(words.unaligned.values()),
    )
    jackknife.write(functions.assign(**columns_of(settings.run)), arguments.functions)


def owed_to_heads(
    subject: Subject, arguments: argparse.Namespace
) -> tuple[dict[str, Totals], np.ndarray]:
    """How much the loss of the checkpoint's own objective depends on each head, and in which
    sentences."""
    objective, settings = objective_of(subject), arguments.settings
    pairs, dev_blocks = read_table(arguments.dev), load_array(arguments.dev_blocks)
    require_equal_lengths(pairs=pairs, dev_blocks=dev_blocks)
    if objective is None or (objective == "mt" and "target" not in pairs):
        logging.info(
            "no gradient and no loss without a head: the model predicts neither masked tokens, nor "
            "the next one, nor, as Marian, a translation that the text has"
        )
        return {}, np.array([], dtype=int)
    logging.info(f"gradient, and loss without a head, under {objective}")
    dev = text_of(subject, pairs, objective)
    some = sample(dev, settings.sentences, settings.seed)
    examples = references(subject, objective, dev.select(some), settings.seed)
    predictor = CheckpointPredictor(arguments.model, subject, objective, device())
    found = {
        "gradient": gate_gradient(predictor, examples),
        "loss_increase": loss_increase(predictor, examples),
    }
    return found, some


def rows_of(found: dict[str, Totals], blocks: np.ndarray, count: int) -> list[dict]:
    return [row for name, totals in found.items() for row in totals.rows(name, blocks, count)]


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("model", "words", "blocks", "frequencies", "dev", "dev-blocks"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--annotation", type=Path, nargs="?")
    parser.add_argument("--written", type=Path, nargs=2, help="text and tokenizer of words")
    parser.add_argument("--importance", type=Path, required=True)
    parser.add_argument("--functions", type=Path, required=True)
    parser.add_argument("--batch-tokens", type=int, required=True, help="tokens encoded at once")
    program.run(main, parser, Settings)
