"""Measure the mutual information between tokens and their representations, at each layer.

Settings: objective, seed (the run); reading; labels, a list of {label: input | output,
    positions: all | changed | masked | replaced}; n_tokens (most frequent tokens, the labels);
    n_clusters; bootstrap_samples (of sentences); sampling_seed (of clusters, shuffled labels,
    bootstrap, and the classifier's halves).
Inputs: the occurrence table of the reading; frequencies.csv; the run's views, layer 0 first.
Outputs: a table with two rows for each layer and label: estimator clusters, and estimator
    classifier, a lower bound on held-out sentences.
"""

import logging
from dataclasses import asdict

import numpy as np
import pandas as pd

from bottomup import program
from bottomup.measures import bootstrap, views
from bottomup.measures import mutual_information as information
from bottomup.measures.classifier_bound import classifier_bound
from bottomup.measures.labels import choose


def main(arguments):
    settings = arguments.settings
    occurrences = pd.read_parquet(arguments.occurrences)
    frequencies = pd.read_csv(arguments.frequencies, usecols=["token_id", "rank"])
    chosen = [
        (label, *choose(occurrences, frequencies, **label, n_tokens=settings["n_tokens"]))
        for label in settings["labels"]
    ]
    for _, rows, _ in chosen:
        information.check_clusters(settings["n_clusters"], len(rows))
    table = []
    for layer, path in enumerate(arguments.views):
        view = np.load(path, mmap_mode="r", allow_pickle=False)
        for label, rows, tokens in chosen:
            sentences = occurrences["sentence"].to_numpy()[rows]
            same = {name: settings[name] for name in ("objective", "seed")}
            same |= {"layer": layer, "reading": settings["reading"], **label}
            ...
