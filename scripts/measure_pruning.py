"""Measure a pruned model, and write the smaller model that computes the same.

Settings: run and scoring, as for measure_quality; pruned: attention, method (none: unpruned) and
          penalty; gated_layers (the number of layers that shared the penalty).
Inputs:   the pruned model's folder and metrics; its quality, if it is known (the method none); the
          rest as for measure_quality.
Outputs:  a table of one row; the smaller model's folder. Quality, parameters and size are those of
          the smaller model.
"""

import argparse
import math
import shutil
from pathlib import Path

from bottomup import objectives, program, subjects
from bottomup.device import device
from bottomup.files.arrays import load_array
from bottomup.files.tables import read_table
from bottomup.heads.removal import without_closed_heads
from bottomup.kinds import KINDS
from bottomup.measures import jackknife
from bottomup.measures.quality import as_written, compared, quality, right_token
from bottomup.model.folder import save
from bottomup.settings import Pruned, Scoring, Section, Trained
from bottomup.tables import columns_of


class Settings(Section):
    run: Trained
    pruned: Pruned
    scoring: Scoring
    gated_layers: int


def main(arguments: argparse.Namespace) -> None:
    settings, pruned = arguments.settings, arguments.settings.pruned
    objective = objectives.load(settings.run.module, settings.run.options)
    model = without_closed_heads(subjects.load(arguments.model).model.to(device()))
    whole = pruned.method == "none"  # the run itself, at its lowest dev loss
    if arguments.quality:
        scores = as_written(*arguments.quality)
    else:
        scores = quality(
            model,
            objective,
            settings.scoring,
            arguments.tokens,
            load_array(arguments.blocks),
            arguments.translation,
        )
    judged_by, probability = compared(scores), right_token(scores)
    shutil.copytree(arguments.model, arguments.smaller, dirs_exist_ok=True)  # tokenizers, too
    save(model, arguments.smaller)
    dev_losses = read_table(arguments.metrics)["dev_loss_nats"]
    penalty = math.nan if whole else pruned.penalty
    heads = {kind: sum(counts) for kind, counts in model.config.kept_heads.items()}
    row = columns_of(settings.run) | {
        "attention": pruned.attention,
        "method": pruned.method,
        "penalty": penalty,
        # The paper's penalty is on the sum over all heads (equation 9).
        "penalty_of_sum": penalty / settings.gated_layers,
        "start": "scratch" if pruned.method == "scratch" else "trained",
        **{f"heads_{kind}": heads.get(kind, 0) for kind in KINDS},
        **judged_by.estimate("quality"),
        "probability": probability.value,
        f"probability_{jackknife.WITHOUT}": probability.without,
        **{name: scores[name].value if name in scores else math.nan for name in ("bleu", "chrf")},
        "test_loss_nats": math.log(scores["perplexity"].value),
        "accuracy": scores[objective.accuracy].value,
        "dev_loss_nats": dev_losses.min() if whole else dev_losses.iloc[-1],
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "megabytes": (arguments.smaller / "model.safetensors").stat().st_size / 1e6,
    }
    jackknife.write([row], arguments.table)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--metrics", type=Path, required=True)
    parser.add_argument(
        "--quality", type=Path, nargs="*", help="estimates of its quality, if it was measured"
    )
    parser.add_argument("--tokens", type=Path, required=True, help="the folder of token files")
    parser.add_argument("--blocks", type=Path, required=True, help="of the test split's sentences")
    parser.add_argument(
        "--translation", type=Path, nargs="*", help="the test split's text, the target's tokenizer"
    )
    parser.add_argument("--smaller", type=Path, required=True)
    parser.add_argument("--table", type=Path, required=True)
    program.run(main, parser, Settings)
