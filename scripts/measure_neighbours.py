"""Measure what each occurrence has in common with its nearest neighbors, at each layer.

Settings: objective, seed (the run); k (neighbors); tokens, occurrences (most frequent tokens, and
    how many occurrences of each, for the property token); within_tokens, within_occurrences (the
    same for the properties within one token); bootstrap_samples (of sentences); sampling_seed (of
    the occurrences and the bootstrap).
Inputs: the occurrence table and its annotations; the run's views, layer 0 first.
Outputs: a table with a row for each layer and property: for position the mean distance to the
    neighbors in tokens, for all others the share of neighbors with the same; chance is what
    neighbors drawn at random would give.
"""

import logging

import numpy as np
import pandas as pd

from bottomup import program
from bottomup.measures import bootstrap, neighbours
from bottomup.views.files import load


def main(arguments):
    settings = arguments.settings
    tables = (arguments.occurrences, arguments.annotations)
    occurrences = pd.concat([pd.read_parquet(table) for table in tables], axis=1)
    seed = settings["sampling_seed"]
    within = settings["within_tokens"], settings["within_occurrences"], seed
    samples = [
        neighbours.among_tokens(occurrences, settings["tokens"], settings["occurrences"], seed),
        neighbours.within_tokens(occurrences, *within),
        neighbours.within_ambiguous_tokens(occurrences, *within),
    ]
    run = {name: settings[name] for name in ("objective", "seed")}
    table = []
    for layer, path in enumerate(arguments.views):
        view = load(path, len(occurrences))
        for sample in samples:
            rows = describe(view, sample, occurrences, settings)
            table += [{**run, "layer": layer, **row} for row in rows]
            values = ", ".join(f"{row['property']} {row['value']:.3f}" for row in rows)
            logging.info(f"layer {layer}: {values}")
    pd.DataFrame(table).to_csv(arguments.table, index=False)


def describe(view, sample, occurrences, settings):
    """A row for each property of the sample."""
    k, n_samples, seed = (settings[key] for key in ("k", "bootstrap_samples", "sampling_seed"))
    sentences = occurrences["sentence"].to_numpy()[sample.rows.ravel()]
    index, counts = bootstrap.resamples(sentences, n_samples, seed)
    chance = neighbours.chance(sample)
    rows = []
    for name, values in neighbours.measure(view, sample, k).items():
        means = np.bincount(index, values.ravel()) @ counts / (np.bincount(index) @ counts)
        low, high = bootstrap.interval(values.mean(), means)
        rows.append(
            {
                "property": name,
                "k": k,
                "value": values.mean(),
                "ci_low": low,
                "ci_high": high,
                "chance": chance[name],
                "n_occurrences": values.size,
                "n_tokens": sample.n_tokens,
                "ccg_source": occurrences["ccg_source"].iloc[0] if name.startswith("ccg") else "",
            }
        )
    return rows


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("occurrences", "annotations", "table"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--views", required=True, nargs="+")
    program.run(main, parser)
