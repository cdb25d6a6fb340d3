"""Measure the mutual information between tokens and their representations, at each layer.

Settings: objective, seed (the run); reading; labels, a list of {label: input | output,
    positions: all | changed | masked | replaced}; n_tokens (most frequent tokens, the labels);
    n_clusters; other_n_clusters, a list; bootstrap_samples (of sentences); sampling_seed (of
    clusters, shuffled labels, bootstrap, and the classifier's halves).
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
from bottomup.measures import bootstrap
from bottomup.measures import mutual_information as information
from bottomup.measures.classifier_bound import classifier_bound
from bottomup.measures.labels import choose
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
    "shuffled_mi_nats",
    "entropy_nats",
    "n_occurrences",
    "n_labels",
    "n_clusters",
    "n_clusters_used",
]


def main(arguments):
    settings = arguments.settings
    run = {name: settings[name] for name in ("objective", "seed", "reading")}
    occurrences = pd.read_parquet(arguments.occurrences)
    frequencies = pd.read_csv(arguments.frequencies, usecols=["token_id", "rank"])
    table = []
    for layer, path in enumerate(arguments.views):
        view = load(path, len(occurrences))
        for label in settings["labels"]:
            rows, tokens = choose(occurrences, frequencies, settings["n_tokens"], **label)
            sentences = occurrences["sentence"].to_numpy()[rows]
            common = {**run, "layer": layer, **label, "n_labels": len(np.unique(tokens))}
            numbers = [settings["n_clusters"], *settings["other_n_clusters"]]
            measures = [partial(by_clusters, n_clusters) for n_clusters in numbers]
            for measure in (*measures, by_classifier):
                values = measure(view[rows], tokens, sentences, settings)
                table.append(common | values)
                logging.info(
                    f"layer {layer}, {label['label']} at {label['positions']} positions: "
                    f"{values['mi_nats']:.3f} nats by {values['estimator']}"
                )
    table = pd.DataFrame(table, columns=COLUMNS)
    # Whole numbers, though the classifier has none.
    table = table.astype({"n_clusters": "Int64", "n_clusters_used": "Int64"})
    table.to_csv(arguments.table, index=False)


def by_clusters(n_clusters, view, tokens, sentences, settings):
    n_samples, seed = settings["bootstrap_samples"], settings["sampling_seed"]
    clusters = information.cluster(view, n_clusters, seed)
    value = information.mutual_information(tokens, clusters)
    samples = information.bootstrapped(tokens, clusters, sentences, n_samples, seed)
    low, high = bootstrap.interval(value, samples)
    return {
        "estimator": "clusters",
        "mi_nats": value,
        "ci_low": low,
        "ci_high": high,
        "shuffled_mi_nats": information.shuffled(tokens, clusters, seed),
        "entropy_nats": information.entropy(tokens),
        "n_occurrences": len(tokens),
        "n_clusters": n_clusters,
        "n_clusters_used": len(np.unique(clusters)),
    }


def by_classifier(view, tokens, sentences, settings):
    n_samples, seed = settings["bootstrap_samples"], settings["sampling_seed"]
    bound = classifier_bound(view, tokens, sentences, n_samples, seed)
    return {"estimator": "classifier", **asdict(bound)}


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("occurrences", "frequencies", "table"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--views", required=True, nargs="+")
    program.run(main, parser)
