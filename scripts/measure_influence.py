"""Measure how much groups of tokens influence all others, at each layer of one run.

Settings: run (objective and seed); influence, that section of the config.
Inputs: the run's model folder; the token file of a reading; its table of occurrences, and their
    annotations; if these are words, also test.parquet and tokenizer.words.json, which has them.
Outputs: a table of PWCCA distances, one row for each group, matching and layer; the usual
    representations carry the weights. Of a model from whose attention nothing can be hidden, a
    table without rows.
"""

import logging
from pathlib import Path

from bottomup import program, subjects
from bottomup.corpus.tokens import TokenFile
from bottomup.device import device
from bottomup.files.tables import read_beside
from bottomup.measures import jackknife
from bottomup.measures.groups import groups
from bottomup.measures.influence import influence
from bottomup.settings import Influence, Run, Section
from bottomup.subjects.words import of_occurrences, of_subwords
from bottomup.tables import columns_of

COLUMNS = [
    *("objective", "seed", "grouping", "group", "matching", "layer", "distance"),
    *("ci_low", "ci_high", "n_occurrences", "n_needed", jackknife.WITHOUT, "n_sentences"),
]


class Settings(Section):
    run: Run
    influence: Influence


def main(arguments):
    run, settings = columns_of(arguments.settings.run), arguments.settings.influence
    columns = ["text", "sentence", "position", "input_id", "rank", "block"]
    occurrences = read_beside(arguments.occurrences, arguments.annotations, columns=columns)
    subject = subjects.load(arguments.model)
    if not subject.heads:
        logging.info("left out: %s", subject.without_heads("changed"))
        jackknife.write([], arguments.table, COLUMNS)
        return
    if arguments.written:
        words, _ = of_occurrences(subject, occurrences, *arguments.written)
        text, occurrences = words.tokens, of_subwords(words.tokens, occurrences)
    else:
        text = TokenFile.load(arguments.text)
    rows = influence(
        subject,
        text,
        occurrences,
        groups(occurrences, occurrences, ranks_of_words=bool(arguments.written)),
        settings.hidden,
        settings.sentences,
        settings.seed,
        arguments.batch_tokens,
        device(),
    )
    table = []
    for row in rows:
        logging.info("{group} {matching} at layer {layer}: {distance:.5f}".format(**row))
        table.append(run | row)
    jackknife.write(table, arguments.table)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("model", "text", "occurrences", "annotations", "table"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--written", type=Path, nargs="*", help="text and tokenizer of words")
    parser.add_argument("--batch-tokens", type=int, required=True, help="tokens encoded at once")
    program.run(main, parser, Settings)
