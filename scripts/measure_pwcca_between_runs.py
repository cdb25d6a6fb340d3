"""Measure the PWCCA distance between two runs, layer by layer.

Settings: objective_a, seed_a, objective_b, seed_b (the runs); variants of the distance.
Inputs:   the views of both runs, layer 0 first.
Outputs:  a table with a row for each layer, variant and weighting view (x is run a).
"""

import argparse
import logging
from pathlib import Path

import numpy as np
import pandas as pd

from bottomup import program
from bottomup.device import device
from bottomup.measures.pwcca import distances, moments_of


def main(arguments: argparse.Namespace) -> None:
    settings = dict(arguments.settings)
    variants = settings.pop("variants")
    table = []
    for layer, (path_a, path_b) in enumerate(
        zip(arguments.views_a, arguments.views_b, strict=True)
    ):
        a, b = np.load(path_a, mmap_mode="r"), np.load(path_b, mmap_mode="r")
        moments = moments_of(a, b, device())
        for row in distances(moments, variants):
            table.append({**settings, "layer": layer, **row, "n_occurrences": len(a)})
            logging.info("layer %s: %s", layer, row)
    pd.DataFrame(table).to_csv(arguments.table, index=False)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--views-a", type=Path, nargs="+", required=True)
    parser.add_argument("--views-b", type=Path, nargs="+", required=True)
    parser.add_argument("--table", type=Path, required=True)
    program.run(main, parser)
