"""Extract the views of one run under one reading: an array of all layers.

Settings: dtype (float16 or float32); pooling (last or mean: what stands for a word).
Inputs:   the run's model folder; the reading's token file and table of occurrences; if these are
          words, also test.parquet and tokenizer.words.json, which has these words.
Outputs:  an array [layers + 1, n_occurrences, d_model]; NaN for words that the run's tokenizer
          cannot tell from others, or that are cut off.
"""

import argparse
from pathlib import Path

from bottomup.plan import program
from bottomup import subjects
from bottomup.core.device import float32_device as device
from bottomup.core.files.tables import read_table
from bottomup.core.settings import Views
from bottomup.corpus.tokens import TokenFile
from bottomup.subjects.words import of_occurrences
from bottomup.views.extraction import extract


def main(arguments: argparse.Namespace) -> None:
    subject, settings = subjects.load(arguments.model), arguments.settings
    text = TokenFile.load(arguments.text)
    columns = ["text", "sentence", "position"]
    table = read_table(arguments.occurrences, columns=columns)
    if arguments.written:
        words, rows = of_occurrences(subject, table, *arguments.written)
        ends = words.pooled(settings.pooling, subject.backward)
        first, last = (of_words[rows] for of_words in ends)
        text, table = words.tokens, table.assign(first=first, position=last)
    subject.on(device())
    extract(subject, text, table, arguments.views, settings.dtype, arguments.batch_tokens)


if __name__ == "__main__":
    parser = program.parser(__doc__, "model", "text", "occurrences", "views")
    parser.add_argument("--written", type=Path, nargs="*", help="text and tokenizer of words")
    parser.add_argument("--batch-tokens", type=int, required=True, help="tokens encoded at once")
    program.run(main, parser, Views)
