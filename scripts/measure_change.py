"""Measure how much groups of tokens change between consecutive layers of one run.

Settings: objective, seed (the run); occurrences (drawn for each group; one with fewer is left out);
    sampling_seed (of their draw).
Inputs: the run's views of the plain reading, layer 0 first; its table of occurrences, and their
    annotations.
Outputs: a table of PWCCA distances, one row for each group, matching and pair of layers (weighted
    by the lower one, layer_a).
"""

import logging

import pandas as pd

from bottomup import program
from bottomup.device import device
from bottomup.measures import jackknife
from bottomup.measures.change import change
from bottomup.measures.groups import groups
from bottomup.views.files import load


def main(arguments):
    settings = arguments.settings
    run = {name: settings[name] for name in ("objective", "seed")}
    occurrences = pd.read_parquet(arguments.occurrences, columns=["input_id", "rank", "block"])
    annotations = pd.read_parquet(arguments.annotations, columns=["tag", "last_subword"])
    rows = change(
        [load(path, len(occurrences)) for path in arguments.views],
        occurrences,
        groups(occurrences, annotations),
        settings["occurrences"],
        settings["sampling_seed"],
        device(),
    )
    table = []
    for row in rows:
        logging.info(
            "{group} {matching}, layers {layer_a} and {layer_b}: {distance:.4f}".format(**row)
        )
        table.append(run | row)
    jackknife.write(table, arguments.table)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--views", required=True, nargs="+")
    for name in ("occurrences", "annotations", "table"):
        parser.add_argument(f"--{name}", required=True)
    program.run(main, parser)
