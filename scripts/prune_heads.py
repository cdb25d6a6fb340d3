"""Fine-tune a model with fewer attention heads, chosen by gates or by another method.

Settings: objective, seed, module, options (the run; module null: a checkpoint); pruned: attention
          (whose heads may go), method and penalty (on open gates); training; for the method gates,
          the section gates.
Inputs:   the model's folder; the splits train and dev as it reads them, token files or, for a
          checkpoint, parquet files; for methods other than gates, the table of gates at the same
          penalty, and the importance of the run's heads.
Outputs:  model/ and metrics.jsonl in a folder; a table of the gates. In the model of a checkpoint,
          nothing reads the output of closed heads. While it runs, checkpoint/ beside them: after a
          stop, the same command resumes from there.
"""

import argparse
from pathlib import Path

from bottomup.plan import program
from bottomup.core.files.tables import read_table
from bottomup.core.seeds import derive
from bottomup.heads.pruning import Settings, as_many, prune
from bottomup.training.distributed import in_processes
from bottomup.training.stopping import listening


@in_processes
@listening()
def main(arguments: argparse.Namespace) -> None:
    settings, pruned, gates = arguments.settings, arguments.settings.pruned, None
    if pruned.method != "gates":
        other_gates, *importance = map(read_table, arguments.chosen_by)
        # Each penalty has its own draw: heads kept at one penalty need not be kept at another.
        draw = derive(settings.seed, pruned.attention, repr(pruned.penalty))
        gates = as_many(pruned.method, other_gates, *importance, draw=draw)
    prune(
        settings,
        arguments.code,
        arguments.text,
        arguments.dev,
        arguments.model,
        gates,
        arguments.folder,
        arguments.gates,
        arguments.accumulate,
        arguments.trained,
    )


if __name__ == "__main__":
    parser = program.parser(__doc__, "model", "folder", "gates", "trained")
    parser.add_argument("--text", type=Path, nargs="+", required=True, help="the split train")
    parser.add_argument("--dev", type=Path, nargs="+", required=True, help="the split dev")
    parser.add_argument(
        "--chosen-by", type=Path, nargs="*", help="a table of gates, a table of importance"
    )
    parser.add_argument("--accumulate", type=int, default=1, help="parts of an update")
    program.run(main, parser, Settings)
