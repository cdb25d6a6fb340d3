"""Updates of a masked language model against transformers' BERT of the same shape and batches.

OMP_NUM_THREADS=1 python benchmarks/training.py TOKENS_FOLDER
"""

import argparse
import tempfile
import time
from functools import partial
from itertools import islice
from pathlib import Path

import torch
from side_by_side import compare, machine
from transformers import BertConfig, BertForMaskedLM

from bottomup import objectives
from bottomup.corpus.tokens import TokenFile
from bottomup.model.configuration import TransformerConfig
from bottomup.model.transformer import Transformer
from bottomup.seeds import generator
from bottomup.settings import Training
from bottomup.training.batches import Text, forever
from bottomup.training.checkpoint import Checkpoint, Progress
from bottomup.training.loop import Trainer
from bottomup.training.precision import autocast

UPDATES, WARM_UP, BATCH_TOKENS = 30, 5, 2048
D_MODEL, D_FF, HEADS, LAYERS = 128, 512, 8, 6


def timed(update, text: Text) -> tuple[float, float]:
    """Seconds of UPDATES updates, and the last loss in nats."""
    batches = islice(forever(text, BATCH_TOKENS, seed=1, skip=0), WARM_UP + UPDATES)
    for step, sentences in enumerate(batches):
        if step == WARM_UP:
            start = time.perf_counter()
        loss = update(sentences, step + 1)
    loss = float(loss)
    return time.perf_counter() - start, loss


def ours(folder: Path, precision: str) -> tuple[float, float]:
    text = Text(TokenFile.load(folder))
    shape = {"heads": HEADS, "d_model": D_MODEL, "d_ff": D_FF, "encoder_layers": LAYERS}
    vocab_size = int(text.source.ids.max()) + 1
    config = TransformerConfig(
        vocab_size=vocab_size, target_vocab_size=vocab_size, attention_dropout=0.0, **shape
    )
    settings = Training(
        batch_tokens=BATCH_TOKENS,
        max_tokens=10**9,
        warmup_steps=500,
        learning_rate=2e-3,
        schedule="inverse_sqrt",
        optimizer="adam",
        evaluate_every_steps=10**9,
        patience=5,
        dev_seed=1,
        precision=precision,
    )
    with tempfile.TemporaryDirectory() as scratch:
        trainer = Trainer(
            Transformer(config, seed=1),
            objectives.load("mlm", {}),
            text,
            text,
            settings,
            1,
            Checkpoint(Path(scratch), {"run": "benchmark"}),
        )

        def update(sentences, step: int) -> float:
            trainer.set_rate(Progress(step=step))
            return trainer.update(sentences, step)

        return timed(update, text)


def bert(folder: Path) -> tuple[float, float]:
    """The peer as its documentation uses it, under the same autocast and Adam."""
    text = Text(TokenFile.load(folder))
    config = BertConfig(
        vocab_size=int(text.source.ids.max()) + 1,
        hidden_size=D_MODEL,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=D_FF,
        attention_probs_dropout_prob=0.0,
    )
    torch.manual_seed(1)
    model = BertForMaskedLM(config).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    objective = objectives.load("mlm", {})

    def update(sentences, step: int) -> float:
        source, _ = text.batch(sentences)
        example = objective.example(source, None, config.vocab_size, generator(1, step))
        ids = torch.from_numpy(example.source)
        with autocast(torch.device("cpu"), "auto"):
            loss = model(
                ids, attention_mask=(ids != 0).long(), labels=torch.from_numpy(example.labels)
            ).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return timed(update, text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokens", type=Path, help="a folder of token files of the workflow")
    folder = parser.parse_args().tokens
    print(f"{UPDATES} updates of {BATCH_TOKENS} tokens. ", end="")
    print(machine(torch.get_num_threads(), "torch", "transformers"), end="\n\n")
    compare(
        {
            "bottomup": partial(ours, folder, "auto"),
            "bottomup, float32": partial(ours, folder, "float32"),
            "transformers' BERT": partial(bert, folder),
        },
        "last loss, nats",
    )
