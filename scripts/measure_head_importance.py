"""Measure how important the attention heads of one model are, in several ways.

Settings: run (objective, seed, module, options; module null: a checkpoint, trained for its own
          objective); sentences (of the dev split); seed (of sentences and masks); if it
          translates, beam: beam_size, length_penalty.
Inputs:   the model's folder; the dev split as it reads it, token files or, for a checkpoint,
          dev.parquet; the blocks of the split's sentences.
Outputs:  a table with a row for each head and importance. Confidence, attention to special tokens
          and relevance of a run are measured on its own translations, gradient and loss on the
          references. A model that predicts nothing has only the first two. A checkpoint has no
          relevance, and gradient and loss under its own objective, if it has one. Of a model whose
          attention cannot be looked at, a table without rows.
"""

import argparse
import logging
from pathlib import Path

from bottomup import program, subjects
from bottomup.files.arrays import load_array
from bottomup.heads import tasks
from bottomup.measures import jackknife
from bottomup.tables import columns_of

COLUMNS = [
    *("objective", "seed", "attention", "layer", "head", "importance"),
    *("value", "ci_low", "ci_high", jackknife.WITHOUT, "n"),
]


def main(arguments: argparse.Namespace) -> None:
    settings, blocks = arguments.settings, load_array(arguments.blocks)
    subject = subjects.load(arguments.model)
    task = tasks.load(settings.run, "importances")
    found = ()
    if subject.heads:
        found = task.importances(subject, settings, arguments.model, arguments.text, blocks)
    else:
        logging.info("left out: %s", subject.without_heads())
    rows = [
        columns_of(settings.run) | row
        for importance, totals, sentences in found
        for row in totals.rows(importance, blocks[sentences], jackknife.n_blocks(blocks))
    ]
    jackknife.write(rows, arguments.table, COLUMNS)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, nargs="+", required=True, help="of the dev split")
    parser.add_argument("--blocks", type=Path, required=True, help="of the dev split's sentences")
    parser.add_argument("--table", type=Path, required=True)
    program.run(main, parser, tasks.Examination)
