"""What a model learns in a budget of tokens, by optimizer, schedule, dropout, masks and shape.

Prints CPU seconds and the lowest dev loss; the papers' recipe comes last, to compare with. Losses
of MLM are for the usual 15 %, whatever the share in training.

OMP_NUM_THREADS=1 python benchmarks/learning.py CORPUS_FOLDER --objective mt --tokens 600000
"""

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path

import torch
from side_by_side import compare, machine

from bottomup import objectives
from bottomup.files.tokenizers import load_tokenizer
from bottomup.settings import Model, Training
from bottomup.training.checkpoint import Checkpoint
from bottomup.training.loop import Trainer
from bottomup.training.run import initial_model, load_text

SHAPE = {"layers": 6, "heads": 8, "d_model": 128, "d_ff": 512, "dropout": 0.1}
ADAM = {"optimizer": "adam", "schedule": "inverse_sqrt", "learning_rate": 2e-3, "warmup_steps": 500}
MUON = {"optimizer": "muon", "schedule": "linear", "learning_rate": 8e-3, "warmup_steps": 100}
DRY = {"dropout": 0.0}
# Training, shape and options of the objective.
ALL = {
    "Muon, without dropout": (MUON, DRY, {}),
    "the same, batches of 2,048": (MUON | {"batch_tokens": 2048}, DRY, {}),
    "the same, 4 heads of 32": (MUON, DRY | {"heads": 4}, {}),
    "Muon, dropout 0.1": (MUON, {}, {}),
    "the same, peak 4e-3": (MUON | {"learning_rate": 4e-3}, {}, {}),
    "the same, peak 1.6e-2": (MUON | {"learning_rate": 1.6e-2}, {}, {}),
    "Muon, inverse square root": (MUON | {"schedule": "inverse_sqrt"}, {}, {}),
    "Adam, linear, peak 4e-3": (
        ADAM | {"schedule": "linear", "learning_rate": 4e-3, "warmup_steps": 200},
        {},
        {},
    ),
    "Adam, without dropout": (ADAM, DRY, {}),
}
OF_MASKS = {
    "Muon, without dropout, 25 % chosen": (MUON, DRY, {"choose": 0.25}),
    "Muon, without dropout, 40 % chosen": (MUON, DRY, {"choose": 0.4}),
}
PEER = {"Adam, inverse square root": (ADAM, {}, {})}


def learned(
    corpus: Path, name: str, tokens: int, training: dict, shape: dict, options: dict
) -> tuple[float, float]:
    """CPU seconds of a training, and the lowest dev loss in nats under the usual objective."""
    objective = objectives.load(name, options)
    sides = ["source", *(["target"] if objective.predicts == "target" else [])]
    sizes = {
        side: load_tokenizer(corpus / f"tokenizer.{side}.json").get_vocab_size() for side in sides
    }
    text, dev = (load_text(corpus / "tokens", split, objective) for split in ("train", "dev"))
    settings = {"batch_tokens": 1024, "max_tokens": tokens, "evaluate_every_steps": 100}
    settings |= {"patience": 1000, "dev_seed": 1, "precision": "auto"}
    with tempfile.TemporaryDirectory() as scratch:
        trainer = Trainer(
            initial_model(Model(**SHAPE | {"attention_dropout": 0.0} | shape), objective, 1, sizes),
            objective,
            text,
            dev,
            Training(**settings | training),
            1,
            Checkpoint(Path(scratch) / "run", {"run": "benchmark"}),
        )
        start = time.process_time()
        trainer.train()
        seconds = time.process_time() - start
    trainer.objective = objectives.load(name, {})
    return seconds, trainer.dev_loss()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, help="results/<study>/corpus of the workflow")
    parser.add_argument("--objective", default="mt", help="lm, mlm or mt")
    parser.add_argument("--tokens", type=int, default=600_000, help="of the source side")
    given = parser.parse_args()
    chosen = ALL | (OF_MASKS if given.objective == "mlm" else {}) | PEER
    print(
        f"{given.objective}, {given.tokens:,} tokens; {machine(torch.get_num_threads(), 'torch')}"
    )
    compare(
        {
            name: partial(learned, given.corpus, given.objective, given.tokens, *how)
            for name, how in chosen.items()
        },
        "dev loss, nats",
        repeats=1,
    )
