"""A pruned model against the whole model: speed of encoding and of translating, and size.

OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/pruning.py WHOLE SMALLER SOURCE_TOKENS

WHOLE is `model/` of a run, SMALLER `smaller/` of a pruned one.
"""

import argparse
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch
from side_by_side import compare, machine

from bottomup import subjects
from bottomup.corpus.batches import Text, in_order
from bottomup.corpus.tokens import TokenFile
from bottomup.model.beam_search import translate

BATCH_TOKENS = 2048


def encode(folder: Path, tokens: Path, sentences: int) -> tuple[float, float]:
    """Seconds to encode the text, and the model's parameters."""
    return timed(folder, tokens, sentences, lambda model, ids: model.encoder(ids))


def decode(folder: Path, tokens: Path, sentences: int) -> tuple[float, float]:
    """The same for translating it by beam search."""
    return timed(folder, tokens, sentences, lambda model, ids: translate(model, ids, 4, 0.6, 40))


def timed(folder: Path, tokens: Path, sentences: int, work) -> tuple[float, float]:
    model = subjects.load(folder).model
    text = Text(TokenFile.load(tokens).select(np.arange(sentences)))
    sources = [torch.from_numpy(text.batch(part)[0]) for part in in_order(text, BATCH_TOKENS)]
    with torch.inference_mode():
        work(model, sources[0])
        start = time.perf_counter()
        for source in sources:
            work(model, source)
    return time.perf_counter() - start, sum(p.numel() for p in model.parameters())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("whole", type=Path)
    parser.add_argument("smaller", type=Path)
    parser.add_argument("tokens", type=Path, help="a folder of token files of the source side")
    arguments = parser.parse_args()
    print(machine(torch.get_num_threads(), "torch"))
    for work, sentences in ((encode, 2000), (decode, 100)):
        print(f"\n{work.__name__}, {sentences} sentences:\n")
        contenders = {"pruned": arguments.smaller, "whole": arguments.whole}
        compare(
            {
                name: partial(work, folder, arguments.tokens, sentences)
                for name, folder in contenders.items()
            },
            "parameters",
        )
