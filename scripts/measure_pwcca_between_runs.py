"""Measure how far apart the layers of two runs are, layer n of one and layer n of the other.

Settings: objective_a, seed_a, objective_b, seed_b (the runs); variants (definition,
    svcca-2019).
Inputs: the views of both runs on the same occurrences, layer 0 first; the table of these.
Outputs: a table of PWCCA distances, one row for each layer, variant and weighting view (x is
    run a, y is run b).
"""

import logging

import pandas as pd

from bottomup import program
from bottomup.device import device
from bottomup.measures import jackknife
from bottomup.measures.blocks import distances, moments_of_blocks
from bottomup.measures.pwcca import kinds_of
from bottomup.views.files import load


def main(arguments):
    settings = arguments.settings
    runs = {name: settings[name] for name in ("objective_a", "seed_a", "objective_b", "seed_b")}
    blocks = pd.read_parquet(arguments.occurrences, columns=["block"])["block"].to_numpy()
    count = jackknife.n_blocks(blocks)
    kinds = kinds_of(settings["variants"])
    table = []
    for layer, paths in enumerate(zip(arguments.views_a, arguments.views_b, strict=True)):
        a, b = (load(path, len(blocks)) for path in paths)
        rows = [*distances(moments_of_blocks(a, b, blocks, count, device()), kinds)]
        logging.info(f"layer {layer}: {rows[0]['distance']:.3f} ({kinds[0][0]})")
        for (variant, weights), row in zip(kinds, rows, strict=True):
            table.append({**runs, "layer": layer, "variant": variant, "weights": weights, **row})
    jackknife.write(table, arguments.table)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--views-a", required=True, nargs="+")
    parser.add_argument("--views-b", required=True, nargs="+")
    parser.add_argument("--occurrences", required=True)
    parser.add_argument("--table", required=True)
    program.run(main, parser)
