"""Calls in an update that wait for a GPU to finish its earlier work, counted without a GPU.

OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/waiting.py
"""

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import torch
from side_by_side import machine

from bottomup import objectives
from bottomup.core.settings import Training
from bottomup.corpus.batches import epoch
from bottomup.heads.pruning import Pruner
from bottomup.heads.runs.predictor import RunPredictor
from bottomup.training.checkpoint import Checkpoint
from bottomup.training.loop import Trainer
from tests.tiny import DROPOUT, initial, random_text
from tests.training.waiting import Calls

TRAINING = Training(
    batch_tokens=400,
    max_tokens=10**9,
    warmup_steps=100,
    learning_rate=2e-3,
    schedule="inverse_sqrt",
    optimizer="adam",
    evaluate_every_steps=10**7,
    patience=5,
    dev_seed=1,
    precision="bfloat16",
)
GATES = {"penalty": 0.1, "learning_rate": 0.05, "initial_log_alpha": 2.0}


def counted(name: str, parts: int, folder: Path) -> Counter:
    """How often an update makes each call; parts: the number of parts of the update."""
    objective = objectives.load("mt" if name == "gates" else name, {})
    text = random_text(300, translated=objective.predicts == "target", high=30)
    model = initial("mt" if name == "gates" else name, layers=6, **DROPOUT)
    arguments = (text, text, TRAINING, 1, Checkpoint(folder, {}), parts)
    if name == "gates":
        predictor = RunPredictor(model, objective)
        trainer = Pruner(
            predictor, model, *arguments, kinds=("encoder", "decoder", "cross"), **GATES
        )
    else:
        trainer = Trainer(model, objective, *arguments)
    with Calls() as calls:
        trainer.update(epoch(text, TRAINING.batch_tokens, 1, 0)[1], 1)
    return calls.counts


if __name__ == "__main__":
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    print(machine(torch.get_num_threads(), "torch"), end="\n\n")
    print("| | parts | waiting | all |\n| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("lm", "mlm", "mt", "gates"):
            for parts in (1, 4):
                found = counted(name, parts, Path(scratch))
                waiting = sum(n for call, n in found.items() if call.startswith("waits: "))
                print(f"| {name} | {parts} | {waiting} | {found['all']} |")
