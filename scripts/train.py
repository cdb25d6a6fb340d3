"""Train one run, or save its initial model if the objective trains nothing.

Settings: objective, seed, module, options, and the sections model and training (docs/config.md);
          step, for the run as it is at that step.
Inputs:   the folder of token files, the tokenizer of each side that the objective needs; for a run
          at a step, the metrics of the run to its end; for a run that starts with heads of another
          one, the model of that, and its table head_functions.
Outputs:  model/ and metrics.jsonl in the run's folder. While it runs, checkpoint/ beside them:
          after a stop, the same command resumes from there.
"""

import argparse
from pathlib import Path

from bottomup.plan import program
from bottomup.training.distributed import in_processes
from bottomup.training.run import Settings, train
from bottomup.training.stopping import listening


@in_processes
@listening()
def main(arguments: argparse.Namespace) -> None:
    train(
        arguments.settings,
        arguments.code,
        arguments.tokens,
        dict(zip(["source", "target"], arguments.tokenizers, strict=False)),
        arguments.run,
        arguments.accumulate,
        arguments.trained,
        arguments.keep,
        arguments.whole,
        tuple(arguments.heads_from) or None,
    )


if __name__ == "__main__":
    parser = program.parser(__doc__, "tokens", "run", "trained")
    parser.add_argument(
        "--tokenizers", type=Path, nargs="+", required=True, help="the source side's, the target's"
    )
    parser.add_argument("--accumulate", type=int, default=1, help="parts of an update")
    parser.add_argument(
        "--keep", type=int, nargs="*", default=[], help="steps whose weights are kept there, too"
    )
    parser.add_argument("--whole", type=Path, metavar="METRICS", help="of the run to its end")
    parser.add_argument(
        "--heads-from", type=Path, nargs="*", default=[], metavar="FILE", help="model, functions"
    )
    program.run(main, parser, Settings)
