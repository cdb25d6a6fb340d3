"""Measure how important the attention heads of one run are, in several ways.

Settings: objective, module, options, seed (the run); sentences (of the dev split);
          sampling_seed (of sentences and masks); if it translates: beam_size, length_penalty.
Inputs:   the run's model folder, the folder of token files, the blocks of the dev split's
          sentences.
Outputs:  a table with a row for each head and kind of importance. Confidence, attention to special
          tokens and relevance are those in the model's own translations, gradient and loss those
          in the references. A model that predicts nothing has the first two alone.
"""

import argparse
from pathlib import Path

import numpy as np

from bottomup import objectives, program, subjects
from bottomup.device import device
from bottomup.heads.confidence import head_attention
from bottomup.heads.examples import references, sample, translations
from bottomup.heads.importance import gate_gradient, loss_increase
from bottomup.heads.relevance import head_relevance
from bottomup.measures import jackknife
from bottomup.training.run import load_text


def main(arguments: argparse.Namespace) -> None:
    settings = arguments.settings
    seed = settings["sampling_seed"]
    objective = objectives.load(settings["module"], settings["options"])
    model = subjects.load(arguments.model).model.to(device())
    dev = load_text(arguments.tokens, "dev", objective)
    some = sample(dev, settings["sentences"], seed)
    text, blocks = dev.select(some), np.load(arguments.blocks)
    examples = references(model, objective, text, seed)
    own = examples
    if objective.predicts == "target":
        own = translations(model, text, settings["beam_size"], settings["length_penalty"])
    found = head_attention(model, own)
    if objective.predicts is not None:
        found |= {
            "relevance_alpha_beta": head_relevance(model, own, "alpha_beta"),
            "relevance_ratio": head_relevance(model, own, "ratio"),
            "gradient": gate_gradient(model, examples),
            "loss_increase": loss_increase(model, examples),
        }
    run = {name: settings[name] for name in ("objective", "seed")}
    rows = [
        run | row
        for importance, totals in found.items()
        for row in totals.rows(importance, blocks[some], jackknife.n_blocks(blocks))
    ]
    jackknife.write(rows, arguments.table)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tokens", type=Path, required=True, help="the folder of token files")
    parser.add_argument("--blocks", type=Path, required=True, help="of the dev split's sentences")
    parser.add_argument("--table", type=Path, required=True)
    program.run(main, parser)
