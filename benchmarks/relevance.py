"""Relevance of heads: seconds a sentence, and a small model against whole Jacobians.

OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/relevance.py MODEL SOURCE_TOKENS [TARGET_TOKENS]
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from side_by_side import compare, machine

from bottomup import subjects
from bottomup.corpus.tokens import TokenFile
from bottomup.heads.propagation import RULES
from bottomup.heads.relevance import head_relevance
from bottomup.model.configuration import TransformerConfig
from bottomup.model.transformer import Transformer
from bottomup.objectives import Example, lm, mt
from bottomup.seeds import generator
from bottomup.training.batches import Text
from tests.heads import explicit

VOCAB, SENTENCES, LENGTH = 1000, 2, 10


def small() -> tuple[Transformer, list[Example]]:
    """Two layers on each side, and sentences of one length."""
    shape = {"heads": 4, "d_model": 32, "d_ff": 128, "encoder_layers": 2, "decoder_layers": 2}
    config = TransformerConfig(vocab_size=VOCAB, target_vocab_size=VOCAB, **shape)
    ids = generator(1, "benchmark").integers(4, VOCAB, (2, SENTENCES, LENGTH))
    source, target = ids
    return Transformer(config, seed=1), [Example(source, target, target)]


def ours() -> tuple[float, float]:
    model, examples = small()
    start = time.perf_counter()
    shares = head_relevance(model, examples).mean()
    return time.perf_counter() - start, shares["encoder"].max()


def whole_jacobians() -> tuple[float, float]:
    """A sentence, a prediction, a position and a head at a time, as the authors' code does."""
    model, (example,) = small()
    start = time.perf_counter()
    shares = []
    for source, target in zip(
        *map(torch.from_numpy, (example.source, example.target)), strict=True
    ):
        for position in range(LENGTH):
            heads = explicit.head_relevance(model, source[None], target[None], position)["encoder"]
            shares.append(heads / heads.sum(dim=1, keepdim=True))
    return time.perf_counter() - start, torch.stack(shares).mean(dim=0).max().item()


def seconds_a_sentence(model: Transformer, text: Text, rule: str) -> float:
    """Each sentence is a batch, with its reference as the target, or each next token predicted."""
    objective = (lm if text.target is None else mt).Objective()
    examples = [
        objective.example(*text.batch(np.array([i])), VOCAB, generator(1, i))
        for i in range(len(text.source))
    ]
    start = time.perf_counter()
    head_relevance(model, examples, rule).mean()
    return (time.perf_counter() - start) / len(examples)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="`model/` of a run")
    parser.add_argument("source", type=Path, help="a folder of token files of the workflow")
    parser.add_argument("target", type=Path, nargs="?", help="the same of the target side")
    parser.add_argument("--sentences", type=int, default=50)
    arguments = parser.parse_args()
    sides = [TokenFile.load(folder) for folder in (arguments.source, arguments.target) if folder]
    text = Text(*sides).select(
        np.sort(generator(1, "sentences").choice(len(sides[0]), arguments.sentences, replace=False))
    )
    print(machine(torch.get_num_threads(), "torch"), end="\n\n")
    print(f"{arguments.sentences} sentences of {text.lengths.mean():.1f} tokens, seconds for each:")
    model = subjects.load(arguments.model).model
    for rule in RULES:
        print(f"  {rule}: {seconds_a_sentence(model, text, rule):.3f}")
    print(f"\n2 + 2 layers of width 32, {SENTENCES} sentences of {LENGTH} tokens:\n")
    compare({"bottomup": ours, "whole Jacobians": whole_jacobians}, "largest share")
