"""Measure how far apart consecutive layers of one run are.

Settings: objective, seed (the run); variants (definition, svcca-2019).
Inputs: the run's views, layer 0 first; the table of their occurrences.
Outputs: a table of PWCCA distances, one row for each pair of layers, variant and weighting view
    (x is the lower layer, layer_a; y the upper, layer_b).
"""

import logging
from itertools import pairwise

import pandas as pd

from bottomup import program
from bottomup.device import device
from bottomup.measures import jackknife
from bottomup.measures.blocks import distances, moments_of_blocks
from bottomup.measures.pwcca import kinds_of
from bottomup.views.files import load


def main(arguments):
    settings = arguments.settings
    run = {name: settings[name] for name in ("objective", "seed")}
    blocks = pd.read_parquet(arguments.occurrences, columns=["block"])["block"].to_numpy()
    views = [load(path, len(blocks)) for path in arguments.views]
    kinds = kinds_of(settings["variants"])
    table, count = [], jackknife.n_blocks(blocks)
    for layer, (lower, upper) in enumerate(pairwise(views)):
        rows = [*distances(moments_of_blocks(lower, upper, blocks, count, device()), kinds)]
        logging.info(f"layers {layer} and {layer + 1}: {rows[0]['distance']:.3f} ({kinds[0][0]})")
        for (variant, weights), row in zip(kinds, rows, strict=True):
            layers = {"layer_a": layer, "layer_b": layer + 1}
            table.append({**run, **layers, "variant": variant, "weights": weights, **row})
    jackknife.write(table, arguments.table)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--views", required=True, nargs="+")
    parser.add_argument("--occurrences", required=True)
    parser.add_argument("--table", required=True)
    program.run(main, parser)
