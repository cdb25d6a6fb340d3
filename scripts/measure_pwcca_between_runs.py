"""Measure how far apart the layers of two runs are, layer n of one and layer n of the other.

Settings: objective_a, seed_a, objective_b, seed_b (the runs); variants (definition, svcca-2019).
Inputs: the views of both runs on the same occurrences, layer 0 first.
Outputs: a table of PWCCA distances, one row for each layer, variant and weighting view (x is
    run a, y is run b).
"""

import logging

import numpy as np
import pandas as pd

from bottomup import program
from bottomup.device import device
from bottomup.measures.pwcca import distances, moments_of


def main(arguments):
    variants = arguments.settings.pop("variants")
    table = []
    for layer, paths in enumerate(zip(arguments.views_a, arguments.views_b, strict=True)):
        a, b = (np.load(path, mmap_mode="r", allow_pickle=False) for path in paths)
        rows = distances(moments_of(a, b, device()), variants)
        logging.info(f"layer {layer}: {rows[0]['distance']:.3f} ({rows[0]['variant']})")
        table += [{**arguments.settings, "layer": layer, **row} for row in rows]
    pd.DataFrame(table).to_csv(arguments.table, index=False)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--views-a", required=True, nargs="+")
    parser.add_argument("--views-b", required=True, nargs="+")
    parser.add_argument("--table", required=True)
    program.run(main, parser)
