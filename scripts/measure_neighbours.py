"""Measure what each occurrence has in common with its nearest neighbors, at each layer.

Settings: objective, seed (the run); k (neighbors); tokens, occurrences (most frequent tokens, and
    how many occurrences of each, for the property token); within_tokens, within_occurrences (the
    same for the properties within one token); sampling_seed (of the occurrences).
Inputs: the occurrence table and its annotations; the run's views, layer 0 first.
Outputs: a table with a row for each layer, property and metric: for position the mean distance to
    the neighbors in tokens, for all others the share of neighbors with the same; chance is what
    neighbors drawn at random would give.
"""

import logging

import pandas as pd

from bottomup import program
from bottomup.measures import jackknife, neighbours
from bottomup.views.files import load


def main(arguments):
    settings = arguments.settings
    tables = (arguments.occurrences, arguments.annotations)
    occurrences = pd.concat([pd.read_parquet(table) for table in tables], axis=1)
    blocks = occurrences["block"].to_numpy()
    run = {name: settings[name] for name in ("objective", "seed")}
    samples = [(sample, neighbours.chance(sample)) for sample in drawn(occurrences, settings)]
    table, k = [], settings["k"]
    for layer, path in enumerate(arguments.views):
        view = load(path, len(occurrences))
        for sample, chance in samples:
            for metric in neighbours.METRICS:
                rows = [*neighbours.estimates(view, sample, blocks, k, metric=metric)]
                values = ", ".join(f"{row['property']} {row['value']:.3f}" for row in rows)
                logging.info(f"layer {layer}, {metric}: {values}")
                for row in rows:
                    name = row["property"]
                    source = occurrences["ccg_source"].iloc[0] if name.startswith("ccg") else ""
                    table.append(
                        {
                            **{**run, "layer": layer, "property": name, "metric": metric, "k": k},
                            **{**row, "chance": chance[name]},
                            **{"n_occurrences": sample.rows.size, "n_tokens": sample.n_tokens},
                            "ccg_source": source,
                        }
                    )
    jackknife.write(table, arguments.table)


def drawn(occurrences, settings):
    seed = settings["sampling_seed"]
    within = settings["within_tokens"], settings["within_occurrences"], seed
    return [
        neighbours.among_tokens(occurrences, settings["tokens"], settings["occurrences"], seed),
        neighbours.within_tokens(occurrences, *within),
        neighbours.within_ambiguous_tokens(occurrences, *within),
    ]


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("occurrences", "annotations", "table"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--views", required=True, nargs="+")
    program.run(main, parser)
