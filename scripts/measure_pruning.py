"""Measure a pruned model, and write the smaller model that computes the same, if it is a run.

Settings: run and scoring, as for measure_quality (of a checkpoint: module null); pruned: attention,
          method (none: unpruned) and penalty.
Inputs:   the pruned model's folder, and its metrics; of a checkpoint its gates, too, and only if it
          was pruned; its quality, if it is known (a run, the method none); the test split as it
          reads it, token files or, for a checkpoint, test.parquet; the rest as for measure_quality.
Outputs:  a table of one row; of a run, the smaller model's folder. Quality, parameters and size are
          those of the smaller model. The quality of a checkpoint is the probability of the right
          token under its own objective, also if it translates: nothing is translated.
"""

import argparse
import math
from pathlib import Path

from bottomup import program
from bottomup.heads import tasks
from bottomup.heads.judging import Held, Settings
from bottomup.kinds import KINDS
from bottomup.measures import jackknife
from bottomup.tables import columns_of


def main(arguments: argparse.Namespace) -> None:
    settings, pruned = arguments.settings, arguments.settings.pruned
    held = Held(
        arguments.model,
        arguments.text,
        arguments.blocks,
        arguments.metrics,
        arguments.gates,
        arguments.quality,
        arguments.translation,
        arguments.smaller[0].parent if arguments.smaller else None,
    )
    found = tasks.load(settings.run, "judging").judged(settings, held)
    penalty = _or_nan(pruned.penalty)
    row = columns_of(settings.run) | {
        "attention": pruned.attention,
        "method": pruned.method,
        "penalty": penalty,
        # The paper's penalty is on the sum over all heads (equation 9).
        "penalty_of_sum": penalty / found.gated_layers,
        "start": "scratch" if pruned.method == "scratch" else "trained",
        **{f"heads_{kind}": found.heads.get(kind, 0) for kind in KINDS},
        **found.quality.estimate("quality"),
        "probability": found.probability.value,
        f"probability_{jackknife.WITHOUT}": found.probability.without,
        "bleu": _or_nan(found.bleu),
        "chrf": _or_nan(found.chrf),
        "test_loss_nats": found.test_loss,
        "accuracy": _or_nan(found.accuracy),
        "dev_loss_nats": _or_nan(found.dev_loss),
        "parameters": _or_nan(found.parameters),
        "megabytes": _or_nan(found.megabytes),
    }
    jackknife.write([row], arguments.table)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--metrics", type=Path, nargs="?")
    parser.add_argument("--gates", type=Path, nargs="?", help="of a pruned checkpoint")
    parser.add_argument(
        "--quality", type=Path, nargs="*", help="estimates of its quality, if it was measured"
    )
    parser.add_argument("--text", type=Path, nargs="+", required=True, help="of the test split")
    parser.add_argument("--blocks", type=Path, required=True, help="of the test split's sentences")
    parser.add_argument(
        "--translation", type=Path, nargs="*", help="the test split's text, the target's tokenizer"
    )
    parser.add_argument("--smaller", type=Path, nargs="*", help="files of the smaller model")
    parser.add_argument("--table", type=Path, required=True)
    program.run(main, parser, Settings)
