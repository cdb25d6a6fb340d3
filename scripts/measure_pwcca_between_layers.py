"""Measure the PWCCA distance between consecutive layers of one run.

Settings: objective, seed (the run); variants of the distance.
Inputs:   the views of the run, layer 0 first.
Outputs:  a table with a row for each pair of layers, variant and weighting view (x is the lower).
"""

import argparse
import logging
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from bottomup import program
from bottomup.device import device
from bottomup.measures.pwcca import distances, moments_of


def main(arguments: argparse.Namespace) -> None:
    settings = dict(arguments.settings)
    variants = settings.pop("variants")
    views = [np.load(path, mmap_mode="r") for path in arguments.views]
    table = []
    for layer, (lower, upper) in enumerate(pairwise(views)):
        for row in distances(moments_of(lower, upper, device()), variants):
            layers = {"layer_a": layer, "layer_b": layer + 1}
            table.append({**settings, **layers, **row, "n_occurrences": len(lower)})
            logging.info("layers %s and %s: %s", layer, layer + 1, row)
    pd.DataFrame(table).to_csv(arguments.table, index=False)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--views", type=Path, nargs="+", required=True)
    parser.add_argument("--table", type=Path, required=True)
    program.run(main, parser)
