"""What a model learns in a budget of CPU seconds, by the default study's recipe and by others.

Prints for each trial how much it read, and its last dev loss in nats a word; of MLM in nats a
predicted token, under the papers' masks whatever it was trained with.

OMP_NUM_THREADS=1 python benchmarks/learning.py CORPUS_FOLDER [ANOTHER ...] --objective mt

A study's corpus is `results/<study>/corpus`; the default recipe is tried on the others as well, for
instance on one of `corpus: {bpe: {merges: 8000}}`.
"""

import argparse
import time
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import torch
from side_by_side import apart, machine

from bottomup import objectives
from bottomup.core.files.tokenizers import load_tokenizer
from bottomup.core.settings import Model, Training
from bottomup.corpus.batches import Text, forever
from bottomup.plan.config import load
from bottomup.plan.reading import read
from bottomup.training.checkpoint import Checkpoint, Progress
from bottomup.training.loop import Trainer
from bottomup.training.run import initial_model

DEFAULT = load(*read([Path("config.yaml")], {}))
PAPERS_MASKS = {"choose": 0.15}
SHORT_FIRST = tuple((share, None, length) for length, share in DEFAULT.training.short_first)
WHOLE = 10**9  # a budget in tokens, of which the rate takes the share of seconds that are gone


@dataclass(frozen=True)
class Trial:
    """What is otherwise than in the default study: keys of `training`, `model` and the objective.

    phases: until which share of the budget, the padded tokens of an update (None: as configured)
    and the longest sentence. tied: whether the output layer is the embedding of what it predicts.
    """

    training: dict = field(default_factory=dict)
    model: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)
    phases: tuple[tuple[float, int | None, float], ...] = (*SHORT_FIRST, (1.0, None, inf))
    tied: bool = False
    seed: int = 1


ADAM = {"optimizer": "adam", "warmup_steps": 250}
OF_ALL = {
    "the default study's": Trial(),
    "another seed": Trial(seed=2),
    "Muon, peak 5e-3": Trial({"learning_rate": 5e-3}),
    "Muon, peak 2e-2": Trial({"learning_rate": 2e-2}),
    "Muon, inverse square root": Trial({"schedule": "inverse_sqrt"}),
    "Adam, peak 2e-3": Trial(ADAM | {"learning_rate": 2e-3}),
    "Adam, peak 4e-3": Trial(ADAM | {"learning_rate": 4e-3}),
    "Adam, peak 8e-3": Trial(ADAM | {"learning_rate": 8e-3}),
    "the papers': Adam, inverse square root": Trial(
        ADAM | {"learning_rate": 2e-3, "schedule": "inverse_sqrt"}
    ),
    "updates of 1,024 tokens": Trial({"batch_tokens": 1024}),
    "updates of 4,096 tokens": Trial({"batch_tokens": 4096}),
    "updates grow: 512, 1,024, 2,048": Trial(
        phases=((0.1, 512, inf), (0.4, 1024, inf), (1.0, 2048, inf))
    ),
    "all lengths from the start": Trial(phases=((1.0, None, inf),)),
    "4 heads of 32": Trial(model={"heads": 4}),
    "dropout 0.1": Trial(model={"dropout": 0.1}),
    "float32": Trial({"precision": "float32"}),
    "output layer tied to its embedding": Trial(tied=True),
}
OF_MASKS = {
    f"{share:.0%} of the tokens predicted": Trial(options={"choose": share})
    for share in (0.15, 0.25, 0.55)
}


def learned(corpus: Path, name: str, seconds: float, trial: Trial) -> tuple[int, int, float]:
    """Source tokens and updates in the budget, and the dev loss after them."""
    objective = objectives.load(name, DEFAULT.objective_options(name).model_dump() | trial.options)
    splits = ("train", "dev")
    text, dev = (Text.load(corpus / "tokens", split, objective.predicts) for split in splits)
    settings = Training(**DEFAULT.objective_training(name).model_dump() | trial.training)
    settings = settings.model_copy(update={"max_tokens": WHOLE})
    with TemporaryDirectory() as scratch:
        trainer = Trainer(
            shaped(corpus, objective, trial),
            objective,
            text,
            dev,
            settings,
            trial.seed,
            Checkpoint(Path(scratch) / "run", {"run": "benchmark"}),
        )
    tokens, progress = 0, Progress()
    start = time.process_time()
    for end, batch_tokens, longest in trial.phases:
        trainer.text = text.select(np.flatnonzero(text.lengths <= longest))
        for sentences in forever(trainer.text, batch_tokens or settings.batch_tokens, trial.seed):
            progress.step += 1
            trainer.set_rate(progress)
            trainer.update(sentences, progress.step)
            tokens += int(trainer.text.source.lengths[sentences].sum())
            spent = (time.process_time() - start) / seconds
            progress.tokens = min(WHOLE, int(WHOLE * spent))
            if spent >= end:
                break
    if name == "mlm":
        trainer.objective = objectives.load(name, PAPERS_MASKS)
    return tokens, progress.step, trainer.dev_loss() * tokens_a_word(corpus, name, dev)


def shaped(corpus: Path, objective: objectives.Objective, trial: Trial) -> torch.nn.Module:
    """The initial model of a trial."""
    sides = ["source", *(["target"] if objective.predicts == "target" else [])]
    sizes = {
        side: load_tokenizer(corpus / f"tokenizer.{side}.json").get_vocab_size() for side in sides
    }
    shape = Model(**DEFAULT.model.model_dump() | trial.model)
    model = initial_model(shape, objective, trial.seed, sizes)
    if trial.tied:
        reader = model.decoder if objective.predicts == "target" else model.encoder
        model.head.weight = reader.embedding.tokens.weight
    return model


def tokens_a_word(corpus: Path, name: str, dev: Text) -> float:
    """How many predictions, with </s>, tell a word of the dev split; 1 for MLM, which leaves most
    tokens out."""
    if name == "mlm":
        return 1.0
    side = "target" if name == "mt" else "source"
    words = pd.read_parquet(corpus / "dev.parquet", columns=[side])[side].str.split().str.len()
    return float(getattr(dev, side).lengths.sum() / words.sum())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("others", type=Path, nargs="*", help="the same text in other sub-words")
    parser.add_argument("--objective", default="mt", help="lm, mlm or mt")
    parser.add_argument("--seconds", type=float, default=180, help="of CPU, for each trial")
    parser.add_argument("--only", help="trials whose name contains this")
    given = parser.parse_args()
    trials = [(given.corpus, name, trial) for name, trial in OF_ALL.items()]
    if given.objective == "mlm":
        trials += [(given.corpus, name, trial) for name, trial in OF_MASKS.items()]
    trials += [(other, f"sub-words of {other}", Trial()) for other in given.others]
    print(
        f"{given.objective}, {given.seconds:g} CPU s; {machine(torch.get_num_threads(), 'torch')}"
    )
    print("\n| | source tokens | updates | dev loss |\n| --- | ---: | ---: | ---: |")
    for corpus, name, trial in trials:
        if given.only is None or given.only in name:
            tokens, updates, loss = apart(learned, corpus, given.objective, given.seconds, trial)
            print(f"| {name} | {tokens:,} | {updates:,} | {loss:.3f} |", flush=True)
