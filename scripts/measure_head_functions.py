"""Measure which functions the encoder heads of one model have: positional, syntactic, rare tokens.

Settings: run (the columns that name it: objective and seed; for a pruned run also attention (whose
    heads were pruned), method and penalty); thresholds, that section of the config.
Inputs: the model's folder; the token file of the test split, source side, and the blocks of its
    sentences; annotation.parquet, if its words are annotated; frequencies.csv. A checkpoint has
    tokens of its own: then also test.parquet and tokenizer.words.json, which has the words it
    reads, and token file and frequencies are those of these words (a token is as rare as its word).
Outputs: a table with a row for each layer, head with an open gate, and function. No sub-word of a
    checkpoint stands for its word, whatever views.pooling says: weights to the sub-words of a word
    are added, and weights from them averaged. Of a model whose attention cannot be looked at, a
    table without rows.
"""

import logging
from pathlib import Path

from bottomup import program, subjects
from bottomup.corpus.frequencies import shared_ranks
from bottomup.corpus.tokens import TokenFile
from bottomup.device import device
from bottomup.files.arrays import load_array
from bottomup.files.tables import read_table
from bottomup.heads.functions import COLUMNS, head_functions
from bottomup.measures import jackknife
from bottomup.settings import Section, Thresholds
from bottomup.subjects.words import of_text, types_of


class Settings(Section):
    run: dict[str, str | int | float | None]
    thresholds: Thresholds


def main(arguments):
    settings, subject = arguments.settings, subjects.load(arguments.model)
    if not subject.heads:
        logging.info("left out: %s", subject.without_heads())
        jackknife.write([], arguments.table, dict.fromkeys([*settings.run, *COLUMNS]))
        return
    columns = ["sentence", "word", "relation", "head"]
    tokens = TokenFile.load(arguments.tokens)
    types, unaligned = tokens.ids, 0
    if arguments.written:
        text, tokenizer = arguments.written
        sentences = read_table(text, columns=["source"])["source"].tolist()
        words, _ = of_text(subject, sentences, tokenizer)
        types, unaligned = types_of(words.tokens, tokens), sum(words.unaligned.values())
        tokens = words.tokens
    table = head_functions(
        subject,
        tokens,
        arguments.annotation and read_table(arguments.annotation, columns=columns),
        types,
        shared_ranks(read_table(arguments.frequencies, usecols=["token_id", "count"])),
        settings.thresholds,
        load_array(arguments.blocks),
        arguments.batch_tokens,
        device(),
        unaligned,
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
    parser.add_argument("--written", type=Path, nargs="*", help="text and tokenizer of words")
    parser.add_argument("--batch-tokens", type=int, required=True, help="tokens encoded at once")
    program.run(main, parser, Settings)
