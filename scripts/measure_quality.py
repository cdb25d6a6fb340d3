"""Measure how good a run is on the test split.

Settings: objective, options, seed; sampling_seed (of masks, and of the sentences that are
          translated); if it translates: beam_size, length_penalty, sentences (how
          many are translated), language (of the target side).
Inputs:   the run's model folder, the token files; if it translates, the test split's text and
          the target side's tokenizer.
Outputs:  a table with columns objective, seed, metric, split, value, signature.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from tokenizers import Tokenizer

from bottomup import objectives, program, subjects
from bottomup.device import device
from bottomup.seeds import generator
from bottomup.training.quality import prediction_quality, translation_quality
from bottomup.training.run import load_text


def main(arguments: argparse.Namespace) -> None:
    settings = arguments.settings
    objective = objectives.load(settings["objective"], settings["options"])
    model = subjects.load(arguments.model).model.to(device())
    text = load_text(arguments.tokens, "test", objective)
    scores = {
        name: (value, "")
        for name, value in prediction_quality(
            model, objective, text, arguments.batch_tokens, settings["sampling_seed"]
        ).items()
    }
    if objective.predicts == "target":
        pairs_file, tokenizer_file = arguments.translation
        pairs = pd.read_parquet(pairs_file)
        order = generator(settings["sampling_seed"], "translated").permutation(len(pairs))
        some = np.sort(order[: settings["sentences"]])
        bleu_and_chrf = translation_quality(
            model,
            text.select(some),
            pairs["target"].iloc[some].tolist(),
            Tokenizer.from_file(str(tokenizer_file)),
            settings["language"],
            settings["beam_size"],
            settings["length_penalty"],
            arguments.batch_tokens,
        )
        scores |= bleu_and_chrf
    pd.DataFrame(
        {
            "objective": settings["objective"],
            "seed": settings["seed"],
            "metric": name,
            "split": "test",
            "value": value,
            "signature": signature,
        }
        for name, (value, signature) in scores.items()
    ).to_csv(arguments.table, index=False)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tokens", type=Path, required=True, help="the folder of token files")
    parser.add_argument(
        "--translation", type=Path, nargs="*", help="the test split's text, the target's tokenizer"
    )
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--batch-tokens", type=int, default=2048, help="tokens encoded at once")
    program.run(main, parser)
