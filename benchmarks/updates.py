"""What an update of each objective takes on this machine's device, at a study's sizes.

PYTHONPATH=. python benchmarks/updates.py CORPUS_FOLDER studies/gpu.yaml

Prints for each objective the milliseconds of an update (median, and middle half; on a CPU those of
its own), with and without one order of additions, the operations that it must do (6 for each weight
and token), the time of one beside that of the first objective named, their share of what a product
of matrices reaches here, and the peak of the device's memory.
"""

import argparse
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from side_by_side import machine

from bottomup import objectives
from bottomup.core.device import device
from bottomup.core.files.tokenizers import load_tokenizer
from bottomup.corpus.batches import Text, forever
from bottomup.plan.config import load
from bottomup.plan.reading import read
from bottomup.plan.study import Study
from bottomup.plan.subjects import SIDES
from bottomup.training.budget import operations
from bottomup.training.checkpoint import Checkpoint, Progress
from bottomup.training.loop import Trainer
from bottomup.training.run import initial_model

Work = Callable[[Text], float]
DEVICE = device()
WIDTH = 8192 if DEVICE.type == "cuda" else 2048


def seconds(call: Callable[[], object]) -> float:
    """The seconds of a call, to its end on a GPU; on a CPU those that no other program had."""
    clock = time.perf_counter if DEVICE.type == "cuda" else time.process_time
    start = clock()
    call()
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()
    return clock() - start


def ceiling() -> float:
    """Operations a second of a bfloat16 product of two matrices; the fastest of ten."""
    a, b = torch.randn(2, WIDTH, WIDTH, device=DEVICE, dtype=torch.bfloat16)
    return 2 * WIDTH**3 / min(seconds(lambda: a @ b) for _ in range(10))


def trainer_of(study: Study, corpus: Path, name: str, scratch: Path) -> tuple[Trainer, Work]:
    """Of the study's recipe, with the model on the device; and what it multiplies for a text."""
    cutting = {side: load_tokenizer(corpus / f"tokenizer.{side}.json") for side in SIDES}
    sizes = {side: tokenizer.get_vocab_size() for side, tokenizer in cutting.items()}
    options = study.objective_options(name).model_dump()
    objective = objectives.load(study.objective_module(name), options, cutting["source"])
    text, dev = (
        Text.load(corpus / "tokens", split, objective.predicts) for split in ("train", "dev")
    )
    shape = study.objective_shape(name)
    model = initial_model(shape, objective, 1, sizes).to(DEVICE)
    checkpoint = Checkpoint(scratch / name, {"run": "benchmark"})
    run = Trainer(model, objective, text, dev, study.objective_training(name), 1, checkpoint)

    def work(text: Text) -> float:
        """Operations of an update: six for each multiplication by a weight."""
        each = operations(objective, text, shape, sizes)
        return 6 * each * float(text.source.lengths.sum())

    return run, work


def updates(trainer: Trainer, work: Work, count: int) -> tuple[list[float], float]:
    """Seconds of each update, after ten that do not count, and the mean of their operations."""
    batches = forever(trainer.text, trainer.settings.batch_tokens, 1)
    progress, found, done = Progress(), [], []
    for sentences in islice(batches, count + 10):
        progress.step += 1
        trainer.set_rate(progress)
        found.append(seconds(lambda: trainer.update(sentences, progress.step)))  # noqa: B023
        done.append(work(trainer.text.select(sentences)))
    return found[10:], float(np.mean(done[10:]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("study", type=Path)
    parser.add_argument("--objectives", nargs="+", default=["lm", "mlm", "mt"])
    parser.add_argument("--updates", type=int, default=100)
    given = parser.parse_args()
    study = load(*read([Path("config.yaml"), given.study], {}))
    most = ceiling()
    named = torch.cuda.get_device_name() if DEVICE.type == "cuda" else "CPU"
    print(f"{given.study}; {named}, {most / 1e12:.3g} TFLOP/s; {machine(1, 'torch', 'numpy')}")
    print(
        "\n| | ms an update | middle half | any order, ms | TFLOP | time of one, beside "
        f"{given.objectives[0]} | share of ceiling | MiB |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    first = None
    for name in given.objectives:
        with TemporaryDirectory() as scratch:
            trainer, work = trainer_of(study, given.corpus, name, Path(scratch))
            found, done = updates(trainer, work, given.updates)
            mib = torch.cuda.max_memory_allocated() / 2**20 if DEVICE.type == "cuda" else 0
            torch.use_deterministic_algorithms(False)
            free, _ = updates(trainer, work, given.updates)
            torch.use_deterministic_algorithms(DEVICE.type == "cuda")
        low, middle, high = 1e3 * np.quantile(found, [0.25, 0.5, 0.75])
        share = done / (middle / 1e3) / most
        first = first or middle / done
        print(
            f"| {name} | {middle:.1f} | {low:.1f} to {high:.1f} | {1e3 * np.median(free):.1f} "
            f"| {done / 1e12:.3g} | {middle / done / first:.2f} | {share:.0%} | {mib:.0f} |",
            flush=True,
        )
