"""Measure how far apart consecutive layers of one run are.

Settings: objective, seed (the run); variants (definition, svcca-2019).
Inputs: the run's views, layer 0 first.
Outputs: a table of PWCCA distances, one row for each pair of layers, variant and weighting view
    (x is the lower layer, layer_a; y the upper, layer_b).
"""

import logging
from itertools import pairwise

import numpy as np
import pandas as pd

from bottomup import program
from bottomup.device import device
from bottomup.measures.pwcca import distances, moments_of


def main(arguments):
    variants = arguments.settings.pop("variants")
    views = [np.load(path, mmap_mode="r", allow_pickle=False) for path in arguments.views]
    table = []
    for layer, (lower, upper) in enumerate(pairwise(views)):
        rows = distances(moments_of(lower, upper, device()), variants)
        logging.info(
            f"layers {layer} and {layer + 1}: {rows[0]['distance']:.3f} ({rows[0]['variant']})"
        )
        layers = {"layer_a": layer, "layer_b": layer + 1}
        table += [{**arguments.settings, **layers, **row} for row in rows]
    pd.DataFrame(table).to_csv(arguments.table, index=False)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--views", required=True, nargs="+")
    parser.add_argument("--table", required=True)
    program.run(main, parser)
