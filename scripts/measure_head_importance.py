"""Measure how important the attention heads of one run are, in several ways.

Settings: objective, options, seed (the run); sentences (of the dev split); bootstrap_samples (of
          sentences); sampling_seed (of sentences, masks and bootstrap); if it translates:
          beam_size, length_penalty.
Inputs:   the run's model folder, the folder of token files.
Outputs:  a table with a row for each head and kind of importance. Confidence and relevance are
          those in the model's own translations, gradient and loss those in the references.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from bottomup import objectives, program, subjects
from bottomup.device import device
from bottomup.heads.confidence import head_confidence
from bottomup.heads.examples import references, sample, translations
from bottomup.heads.importance import gate_gradient, loss_increase
from bottomup.heads.relevance import head_relevance


def main(arguments: argparse.Namespace) -> None:
    settings = arguments.settings
    seed = settings["sampling_seed"]
    objective = objectives.load(settings["objective"], settings["options"])
    model = subjects.load(arguments.model).model.to(device())
    text = sample(arguments.tokens, objective, settings["sentences"], seed)
    examples = references(model, objective, text, seed)
    own = examples
    if objective.predicts == "target":
        own = translations(model, text, settings["beam_size"], settings["length_penalty"])
    found = {
        "confidence": head_confidence(model, own),
        "relevance_alpha_beta": head_relevance(model, own, "alpha_beta"),
        "relevance_ratio": head_relevance(model, own, "ratio"),
        "gradient": gate_gradient(model, examples),
        "loss_increase": loss_increase(model, examples),
    }
    run = {name: settings[name] for name in ("objective", "seed")}
    rows = []
    for importance, totals in found.items():
        values, errors = totals.mean(), totals.error(settings["bootstrap_samples"], seed)
        for kind, of_kind in values.items():
            for (layer, head), value in np.ndenumerate(of_kind):
                place = {"attention": kind, "layer": layer + 1, "head": head + 1}
                error = errors[kind][layer, head]
                interval = {"value": value, "ci_low": value - error, "ci_high": value + error}
                rows.append(run | place | {"importance": importance} | interval)
    pd.DataFrame(rows).to_csv(arguments.table, index=False)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tokens", type=Path, required=True, help="the folder of token files")
    parser.add_argument("--table", type=Path, required=True)
    program.run(main, parser)
