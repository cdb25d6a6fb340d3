"""Attention in short sentences on a CPU, by separate matrix products.

PyTorch's fused kernel never holds all weights of a sentence, which helps long sentences. In short
ones it saves nothing: with 8 heads of width 16, forward and backward together, the products below
take a third of its time at 14 tokens, two thirds at 30, and as much at 60.
"""

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# The most weights of one head: queries times keys of a sentence.
MOST_WEIGHTS = 50 * 50
# A step of beam search has fewer queries, for which copying all keys and values does not pay.
LEAST_QUERIES = 5
# PyTorch's softmax takes ten times as long over fewer columns than a vector of the CPU has.
LEAST_COLUMNS = 16


def serves(n: int, n_keys: int) -> bool:
    """Whether separate products are the faster way for `n` queries of `n_keys` keys."""
    return n >= LEAST_QUERIES and n * n_keys <= MOST_WEIGHTS


class ShortAttention(torch.autograd.Function):
    """Softmax of scaled dot products times values, in float32 whatever coarser format comes in.

    It can be differentiated once, and holds all weights in memory. A query that sees no key gets 0.
    """

    @staticmethod
    def forward(
        ctx, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, causal: bool
    ) -> Tensor:
        """Each head's output in the format of the queries, `[batch, heads, queries, d_head]`.

        keys, values: `[batch, heads, keys, d_head]`; mask, causal: as in `Attention.forward`.
        """
        n, n_keys = queries.shape[2], keys.shape[2]
        columns = max(n_keys, LEAST_COLUMNS)
        q, k, v = of_each_head(queries, n), *(of_each_head(x, columns) for x in (keys, values))
        q *= queries.shape[3] ** -0.5
        scores = q @ k.mT
        barred = bars(mask, causal, n, n_keys, columns)
        scores.unflatten(0, queries.shape[:2]).add_(barred)
        weights = scores.softmax(dim=-1)
        blind = barred.isneginf().all(dim=-1, keepdim=True)
        # By NumPy: the test that nothing waits for a GPU forbids to read a number from PyTorch.
        if blind.numpy().any():
            weights.unflatten(0, queries.shape[:2]).masked_fill_(blind, 0)
        ctx.save_for_backward(q, k, v, weights)
        ctx.n_keys = n_keys
        return as_model(weights @ v, queries, n)

    @staticmethod
    @once_differentiable
    def backward(ctx, upstream: Tensor):
        q, k, v, weights = ctx.saved_tensors
        n = upstream.shape[2]
        above = of_each_head(upstream, n)
        scores = above @ v.mT
        scores -= (scores * weights).sum(dim=-1, keepdim=True)
        scores *= weights
        of_queries = (scores @ k).mul_(upstream.shape[3] ** -0.5)
        return (
            as_model(of_queries, upstream, n),
            as_model(scores.mT @ q, upstream, ctx.n_keys),
            as_model(weights.mT @ above, upstream, ctx.n_keys),
            None,
            None,
        )


def of_each_head(x: Tensor, length: int) -> Tensor:
    """`[batch, heads, n, d_head]` as `[batch * heads, length, d_head]`, zeros after n."""
    batch, heads, n, d_head = x.shape
    dtype = torch.promote_types(x.dtype, torch.float32)
    padded = x.new_empty(batch, heads, length, d_head, dtype=dtype)
    padded[:, :, :n] = x
    padded[:, :, n:] = 0
    return padded.flatten(0, 1)


def as_model(x: Tensor, like: Tensor, length: int) -> Tensor:
    """The first rows of `[batch * heads, >= length, d_head]`, `[batch, heads, length, d_head]`.

    The number format is that of `like`, which has as many heads. The heads of a position lie side
    by side in memory, as the model's matrices read and write them. This is one pass over memory, as
    is `of_each_head`.
    """
    batch, heads, _, d_head = like.shape
    output = like.new_empty(batch, length, heads, d_head).transpose(1, 2)
    return output.copy_(x.unflatten(0, (batch, heads))[:, :, :length])


def bars(mask: Tensor | None, causal: bool, n: int, n_keys: int, columns: int) -> Tensor:
    """What to add to the scores: -inf where a query may not attend, else 0.

    Shape `[batch, heads, n, columns]`, where each of the first three may be 1. Columns after the
    keys are -inf.
    """
    of_mask = () if mask is None else mask.shape[:-1]
    # PyTorch's `broadcast_shapes` imports SymPy: a third of a second for every job.
    rows = np.broadcast_shapes(of_mask, (1, 1, n if causal else 1))
    bias = torch.zeros(*rows, columns)
    bias[..., n_keys:] = -torch.inf
    if causal:
        bias += torch.full((n, columns), -torch.inf).triu_(1)
    if mask is not None:
        bias[..., :n_keys].masked_fill_(~mask, -torch.inf)
    return bias
