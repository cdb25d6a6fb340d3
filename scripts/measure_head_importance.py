"""Measure how important the attention heads of one run are, in several ways.

Settings: run (objective, seed, module, options); sentences (of the dev split); seed (of
          sentences and masks); if it translates, beam: beam_size, length_penalty.
Inputs:   the run's model folder, the folder of token files, the blocks of the dev split's
          sentences.
Outputs:  a table with a row for each head and importance. Confidence, attention to special tokens
          and relevance are measured on the model's own translations, gradient and loss on the
          references. A model that predicts nothing has only the first two.
"""

import argparse
from pathlib import Path

from bottomup import objectives, program, subjects
from bottomup.device import device
from bottomup.files.arrays import load_array
from bottomup.files.joins import require_equal_lengths
from bottomup.heads.confidence import head_attention
from bottomup.heads.examples import references, sample, together, translations
from bottomup.heads.importance import RunPredictor, gate_gradient, loss_increase
from bottomup.heads.relevance import head_relevance
from bottomup.measures import jackknife
from bottomup.settings import Section, Trained
from bottomup.tables import columns_of
from bottomup.training.run import load_text

BATCH_TOKENS = 512  # to lose a head in, at once: sentence by sentence takes twice as long


class Beam(Section):
    beam_size: int
    length_penalty: float


class Settings(Section):
    run: Trained
    sentences: int
    seed: int
    beam: Beam | None


def main(arguments: argparse.Namespace) -> None:
    settings, run = arguments.settings, arguments.settings.run
    objective = objectives.load(run.module, run.options)
    model = subjects.load(arguments.model).model.to(device())
    dev = load_text(arguments.tokens, "dev", objective)
    some = sample(dev, settings.sentences, settings.seed)
    text, blocks = dev.select(some), load_array(arguments.blocks)
    require_equal_lengths(sentences=dev.source, blocks=blocks)
    examples = references(model, objective, text, settings.seed)
    own = examples
    if objective.predicts == "target":
        own = translations(model, text, **dict(settings.beam))
    found = head_attention(model, own)
    if objective.predicts is not None:
        predictor = RunPredictor(model)
        found |= {
            "relevance_alpha_beta": head_relevance(model, own, "alpha_beta"),
            "relevance_ratio": head_relevance(model, own, "ratio"),
            "gradient": gate_gradient(predictor, examples),
            "loss_increase": loss_increase(predictor, together(examples, BATCH_TOKENS)),
        }
    rows = [
        columns_of(run) | row
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
    program.run(main, parser, Settings)
