"""Fine-tune a checkpoint with gates on its attention heads, to find those it can do without.

Settings: objective and seed (the checkpoint); pruned: attention (whose heads may go), method
          (gates) and penalty (on open gates); training; gates, that section of the config.
Inputs:   the checkpoint's folder; train.parquet and dev.parquet, which it reads in its own tokens.
Outputs:  model/ (nothing in it reads closed heads) and metrics.jsonl in a folder; a table of the
          gates. While it runs, checkpoint/ beside them: after a stop, the same command resumes
          from there.
"""

import argparse
from pathlib import Path

from bottomup import program
from bottomup.heads.pruning_checkpoints import Settings, prune
from bottomup.training.distributed import in_processes
from bottomup.training.stopping import listening


@in_processes
@listening()
def main(arguments: argparse.Namespace) -> None:
    prune(
        arguments.settings,
        arguments.code,
        arguments.model,
        arguments.train,
        arguments.dev,
        arguments.folder,
        arguments.gates,
        arguments.accumulate,
        arguments.trained,
    )


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("model", "train", "dev", "folder", "gates"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--accumulate", type=int, default=1, help="parts of an update")
    parser.add_argument("--trained", type=Path, required=True, help="finished runs of any study")
    program.run(main, parser, Settings)
