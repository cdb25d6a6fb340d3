"""Measure a pruned checkpoint, or an unpruned one, by its own objective.

Settings: run (objective and seed); pruned: attention, method (none: unpruned) and penalty; seed (of
          masks).
Inputs:   the folder of the checkpoint, or of the pruned checkpoint with its metrics and gates;
          test.parquet, which it reads in its own tokens, and the blocks of its sentences.
Outputs:  a table of one row, as from measure_pruning. Quality is the probability of the right
          token, also for translation: nothing is translated, and no smaller model is written.
"""

import argparse
import math
from pathlib import Path

from bottomup import program
from bottomup.files.arrays import load_array
from bottomup.files.tables import read_table
from bottomup.heads.pruning_checkpoints import closed, opened, right_token
from bottomup.kinds import GATED, KINDS
from bottomup.measures import jackknife
from bottomup.settings import Pruned, Run, Section
from bottomup.tables import columns_of


class Settings(Section):
    run: Run
    pruned: Pruned
    seed: int


def main(arguments: argparse.Namespace) -> None:
    settings, pruned = arguments.settings, arguments.settings.pruned
    predictor, objective = opened(arguments.model, settings.run.objective, pruned.attention)
    text, blocks = objective.text(arguments.test), load_array(arguments.blocks)
    judged_by = right_token(predictor, objective, text, blocks, settings.seed)
    heads = {kind: sum(map(len, gates)) for kind, gates in predictor.gates.items()}
    dev_loss, penalty = math.nan, math.nan
    if pruned.method != "none":
        metrics, gates = arguments.pruned
        for kind, _, _ in closed(read_table(gates)):
            heads[kind] -= 1
        dev_loss = read_table(metrics)["dev_loss_nats"].iloc[-1]
        penalty = pruned.penalty
    gated_layers = sum(len(predictor.gates[kind]) for kind in GATED[pruned.attention])
    row = columns_of(settings.run) | {
        "attention": pruned.attention,
        "method": pruned.method,
        "penalty": penalty,
        "penalty_of_sum": penalty / gated_layers,
        "start": "trained",
        **{f"heads_{kind}": heads.get(kind, 0) for kind in KINDS},
        **judged_by.estimate("quality"),
        "probability": judged_by.value,
        f"probability_{jackknife.WITHOUT}": judged_by.without,
        **dict.fromkeys(["bleu", "chrf"], math.nan),
        "test_loss_nats": -math.log(judged_by.value),
        "accuracy": math.nan,
        "dev_loss_nats": dev_loss,
        **dict.fromkeys(["parameters", "megabytes"], math.nan),
    }
    jackknife.write([row], arguments.table)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--pruned", type=Path, nargs="*", help="its metrics, its table of gates")
    parser.add_argument("--test", type=Path, required=True)
    parser.add_argument("--blocks", type=Path, required=True, help="of the test split's sentences")
    parser.add_argument("--table", type=Path, required=True)
    program.run(main, parser, Settings)
