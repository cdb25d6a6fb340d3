"""Measure the mutual information between tokens and their representations, at each layer.

Settings: objective, seed (the run); reading; labels, a list of {label: input | output,
    positions: all | changed | masked | replaced}; n_tokens (most frequent tokens, the labels);
    n_clusters; other_n_clusters, a list; clusterings (by k-means, averaged); sampling_seed (of
    clusters, shuffled labels, and the classifier's halves).
Inputs: the occurrence table of the reading; frequencies.csv; the run's views, layer 0 first.
Outputs: a table with rows for each layer and entry of labels: estimator clusters, one for each
    number of clusters, and estimator classifier, a lower bound that counts held-out occurrences
    only.
"""

import logging
from dataclasses import asdict
from functools import partial

import numpy as np
import pandas as pd

from bottomup import program
from bottomup.measures import jackknife
from bottomup.measures import mutual_information as information
from bottomup.measures.classifier_bound import classifier_bound
from bottomup.measures.labels import choose
from bottomup.seeds import derive
from bottomup.views.files import load

COLUMNS = [
    "objective",
    "seed",
    "layer",
    "reading",
    "positions",
    "label",
    "estimator",
    "mi_nats",
    "ci_low",
    "ci_high",
    "clustering_error_nats",
    "shuffled_mi_nats",
    "entropy_nats",
    "n_occurrences",
    "n_labels",
    "n_clusters",
    "n_clusters_used",
    jackknife.WITHOUT,
]


def main(arguments):
    settings = arguments.settings
    run = {name: settings[name] for name in ("objective", "seed", "reading")}
    occurrences = pd.read_parquet(arguments.occurrences)
    blocks = occurrences["block"].to_numpy()
    frequencies = pd.read_csv(arguments.frequencies, usecols=["token_id", "rank"])
    table, count = [], jackknife.n_blocks(blocks)
    for layer, path in enumerate(arguments.views):
        view = load(path, len(occurrences))
        for label in settings["labels"]:
            rows, tokens = choose(occurrences, frequencies, settings["n_tokens"], **label)
            common = {**run, "layer": layer, **label, "n_labels": len(np.unique(tokens))}
            numbers = [settings["n_clusters"], *settings["other_n_clusters"]]
            measures = [partial(by_clusters, n_clusters) for n_clusters in numbers]
            for measure in (*measures, by_classifier):
                values = measure(view[rows], tokens, blocks[rows], count, settings)
                table.append(common | values)
                logging.info(
                    f"layer {layer}, {label['label']} at {label['positions']} positions: "
                    f"{values['mi_nats']:.3f} nats by {values['estimator']}"
                )
    table = pd.DataFrame(table, columns=COLUMNS)
    # Whole numbers, though the classifier has none.
    table = table.astype({"n_clusters": "Int64", "n_clusters_used": "Int64"})
    jackknife.write(table, arguments.table)


def by_clusters(n_clusters, view, tokens, blocks, count, settings):
    seed = settings["sampling_seed"]
    draws = range(settings["clusterings"])
    clusterings = [information.cluster(view, n_clusters, derive(seed, draw)) for draw in draws]
    values = [information.mutual_information(tokens, clusters) for clusters in clusterings]
    shuffled = [information.shuffled(tokens, clusters, seed) for clusters in clusterings]
    used = [len(np.unique(clusters)) for clusters in clusterings]
    without = np.mean(
        [information.without_blocks(tokens, some, blocks, count) for some in clusterings], axis=0
    )
    error = np.std(values, ddof=1) / len(values) ** 0.5
    low, high = jackknife.interval(np.mean(values), without, error)
    return {
        "estimator": "clusters",
        "mi_nats": np.mean(values),
        "ci_low": low,
        "ci_high": high,
        "clustering_error_nats": error,
        "shuffled_mi_nats": np.mean(shuffled),
        "entropy_nats": information.entropy(tokens),
        "n_occurrences": len(tokens),
        "n_clusters": n_clusters,
        "n_clusters_used": min(used),
        jackknife.WITHOUT: without,
    }


def by_classifier(view, tokens, blocks, count, settings):
    bound = classifier_bound(view, tokens, blocks, count, settings["sampling_seed"])
    return {"estimator": "classifier", **asdict(bound)}


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("occurrences", "frequencies", "table"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--views", required=True, nargs="+")
    program.run(main, parser)
