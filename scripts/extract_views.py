"""Extract the views of one run under one reading: an array for each layer.

Settings: dtype (float16 or float32).
Inputs:   the run's model folder; the reading's token file and table of occurrences.
Outputs:  layer_0.npy ... layer_L.npy, [n_occurrences, d_model] each.
"""

import argparse
from pathlib import Path

import pandas as pd

from bottomup import program, subjects
from bottomup.corpus.tokens import TokenFile
from bottomup.device import device
from bottomup.views.extraction import extract


def main(arguments: argparse.Namespace) -> None:
    extract(
        subjects.load(arguments.model),
        TokenFile.load(arguments.text),
        pd.read_parquet(arguments.occurrences, columns=["text", "position"]),
        arguments.views,
        arguments.settings["dtype"],
        arguments.batch_tokens,
        device(),
    )


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True, help="folder of the token file")
    parser.add_argument("--occurrences", type=Path, required=True)
    parser.add_argument("--views", type=Path, nargs="+", required=True, help="one for each layer")
    parser.add_argument("--batch-tokens", type=int, default=4096, help="tokens encoded at once")
    program.run(main, parser)
