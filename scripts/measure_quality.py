"""Measure how good a run is on the test split.

Settings: run (objective, seed, module, options); scoring: seed (of masks, and of the sentences to
          translate); translation (how it translates, if it does); choose (the share of tokens that
          it predicts, if its objective has that option).
Inputs:   the run's model folder, the token files, the blocks of the test split's sentences; if
          it translates, the test split's text and the target side's tokenizer.
Outputs:  a table with a row for each metric.
"""

import argparse
from pathlib import Path

from bottomup import objectives, program, subjects
from bottomup.device import device
from bottomup.files.arrays import load_array
from bottomup.measures import jackknife
from bottomup.measures.quality import quality
from bottomup.settings import Scoring, Section, Trained
from bottomup.tables import columns_of


class Settings(Section):
    run: Trained
    scoring: Scoring


def main(arguments: argparse.Namespace) -> None:
    run = arguments.settings.run
    scores = quality(
        subjects.load(arguments.model).model.to(device()),
        objectives.load(run.module, run.options),
        arguments.settings.scoring,
        arguments.tokens,
        load_array(arguments.blocks),
        arguments.translation,
    )
    rows = [
        columns_of(run)
        | {"metric": name, "split": "test"}
        | score.estimate("value")
        | {"signature": score.signature}
        for name, score in scores.items()
    ]
    jackknife.write(rows, arguments.table)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tokens", type=Path, required=True, help="the folder of token files")
    parser.add_argument("--blocks", type=Path, required=True, help="of the test split's sentences")
    parser.add_argument(
        "--translation", type=Path, nargs="*", help="the test split's text, the target's tokenizer"
    )
    parser.add_argument("--table", type=Path, required=True)
    program.run(main, parser, Settings)
