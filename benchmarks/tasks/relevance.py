"""Relevance of heads, against the same from explicit Jacobians."""

import time

import numpy as np
import torch
from models import decoder_flop, encoder_flop, model
from synthetic import draw_text
from task import Contender, Task, Work

from bottomup.heads.relevance import head_relevance
from bottomup.model.transformer import Transformer
from bottomup.objectives import Example
from tests.heads import explicit

N_TOKENS = 1000


def drawn(length: int, d: int, layers: int) -> tuple[Transformer, Example]:
    """A model that translates, and one sentence of `length` tokens on both sides."""
    source, target = texts(length)
    ids = source.ids[None].astype(np.int64), target.ids[None].astype(np.int64)
    return model(N_TOKENS, d, layers, layers).eval(), Example(*ids, ids[1])


def texts(length: int) -> list:
    rng = np.random.default_rng(1)
    return [draw_text(np.array([length - 1]), N_TOKENS, rng) for _ in range(2)]


def work(length: int, d: int, layers: int) -> Work:
    """For each prediction twice the matrix products of reading, once for positive and once for
    negative contributions; no Jacobian must be formed."""
    source, target = texts(length)
    read = encoder_flop(source, d, layers) + decoder_flop(source, target, d, layers)
    return Work(items=1, flop=2 * length * read)


def ours(length: int, d: int, layers: int) -> tuple[float, float]:
    transformer, example = drawn(length, d, layers)
    start = time.process_time()
    shares = head_relevance(transformer, [example]).mean()
    return time.process_time() - start, float(shares["encoder"].max())


def whole_jacobians(length: int, d: int, layers: int) -> tuple[float, float]:
    """One prediction, position and head at a time, as in the authors' code."""
    transformer, example = drawn(length, d, layers)
    ids = torch.from_numpy(example.source), torch.from_numpy(example.target)
    start = time.process_time()
    shares = []
    for position in range(length):
        heads = explicit.head_relevance(transformer, *ids, position)["encoder"].abs()
        shares.append(heads / heads.sum(dim=1, keepdim=True))
    return time.process_time() - start, torch.stack(shares).mean(dim=0).max().item()


TASKS = {
    "relevance": Task(
        target="50 times at 6+6 layers, same values",
        item="sentences",
        value="largest share",
        work=work,
        contenders={
            "bottomup": Contender(ours),
            "explicit Jacobians": Contender(whole_jacobians),
        },
        sizes=[{"length": n, "d": 32, "layers": 6} for n in (4, 6, 8)],
        small=[{"length": n, "d": 16, "layers": 1} for n in (3, 4, 5)],
    )
}
