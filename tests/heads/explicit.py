"""Relevance propagation once more, by whole Jacobians: one sentence, one prediction at a time."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from bottomup.heads.trace import AttentionStep, Stack, trace
from bottomup.model.transformer import Transformer

# Of the paper and of its authors' code.
ALPHA = BETA = 0.5
EPSILON = 1e-5


def relprop(function: Callable[..., Tensor], relevance: Tensor, *inputs: Tensor) -> list[Tensor]:
    """From the outputs of `function(*inputs)`, a sample, to its inputs, under alpha_beta."""
    sizes = [x.numel() for x in inputs]
    flat = torch.cat([x.flatten() for x in inputs])

    def flattened(flat: Tensor) -> Tensor:
        parts = [p.view(x.shape) for p, x in zip(flat.split(sizes), inputs, strict=True)]
        return function(*parts).flatten()

    jacobian = torch.autograd.functional.jacobian(flattened, flat, vectorize=True)
    z = jacobian * flat + flattened(torch.zeros_like(flat))[:, None] / len(flat)
    up, down = z.clamp(min=0), z.clamp(max=0)
    shares = ALPHA * up / (up.sum(dim=1, keepdim=True) + EPSILON)
    shares += BETA * down / (down.sum(dim=1, keepdim=True) - EPSILON)
    received = relevance.flatten() @ shares
    if relevance.any():
        received *= relevance.sum() / received.sum()
    return [p.view(x.shape) for p, x in zip(received.split(sizes), inputs, strict=True)]


def by_position(function: Callable, relevance: Tensor, *inputs: Tensor) -> list[Tensor]:
    """`relprop` of each position apart; all are `[length, n]`."""
    rows = [relprop(function, r, *x) for r, *x in zip(relevance, *inputs, strict=True)]
    return [torch.stack(parts) for parts in zip(*rows, strict=True)]


def attend(queries: Tensor, keys: Tensor, values: Tensor, allowed: Tensor) -> Tensor:
    """One head of one sentence, `[queries, d_head]`."""
    scores = (queries @ keys.T / queries.shape[1] ** 0.5).masked_fill(~allowed, float("-inf"))
    return scores.softmax(dim=1) @ values


def head_relevance(
    model: Transformer, source: Tensor, target: Tensor | None, position: int
) -> dict[str, Tensor]:
    """Relevance of each head for the top-1 logit at `position`, `[layers, heads]` by kind.

    source, target: unpadded ids of one sentence `[1, length]`.
    """
    run = trace(model, source, target)
    states = run.states[0]
    top = model.head(states[position]).argmax()
    relevance = torch.zeros_like(states)
    (relevance[position],) = relprop(
        lambda x: model.head(x)[top], torch.ones((), dtype=states.dtype), states[position]
    )
    heads: dict[str, list[Tensor]] = {}
    if run.decoder is not None:
        relevance = through_stack(run.decoder, relevance, heads)
    through_stack(run.encoder, relevance, heads)
    return {kind: torch.stack(layers) for kind, layers in heads.items()}


def through_stack(stack: Stack, relevance: Tensor, heads: dict[str, list[Tensor]]) -> Tensor:
    """Enters the heads' relevance; returns that of the memory of cross-attention, or 0."""
    memory = torch.zeros(())
    (relevance,) = by_position(stack.norm, relevance, stack.top[0])
    for step in reversed(stack.steps):
        residual, update = by_position(torch.add, relevance, step.x[0], step.update[0])
        if isinstance(step, AttentionStep):
            normed, to_memory, found = through_attention(step, update)
            memory = memory + to_memory
            heads.setdefault(step.kind, []).insert(0, found)
        else:
            (inner,) = by_position(step.module.outer, update, step.inner[0])
            (normed,) = by_position(step.module.inner, inner, step.normed[0])
        (through_norm,) = by_position(step.norm, normed, step.x[0])
        relevance = residual + through_norm
    return memory


def through_attention(step: AttentionStep, relevance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """To what the queries read, to the memory, and each head's relevance."""
    (outputs,) = by_position(step.module.out, relevance, step.outputs[0])
    n_heads, d_head = step.module.heads, step.values.shape[-1]
    by_head = outputs.unflatten(1, (n_heads, d_head)).transpose(0, 1)
    parts = [
        relprop(
            lambda q, k, v, allowed=step.weights[0, head] > 0: attend(q, k, v, allowed),
            by_head[head],
            *(x[0, head] for x in (step.queries, step.keys, step.values)),
        )
        for head in range(n_heads)
    ]
    queries, keys, values = (torch.cat(heads, dim=1) for heads in zip(*parts, strict=True))
    query, key_value = step.module.query, step.module.key_value
    found = by_head.sum(dim=(1, 2))
    if step.memory is not None:
        (normed,) = by_position(query, queries, step.normed[0])
        (memory,) = by_position(key_value, torch.cat([keys, values], dim=1), step.memory[0])
        return normed, memory, found
    weight = torch.cat([query.weight, key_value.weight])
    bias = torch.cat([query.bias, key_value.bias])
    (normed,) = by_position(
        lambda x: functional.linear(x, weight, bias),
        torch.cat([queries, keys, values], dim=1),
        step.normed[0],
    )
    return normed, torch.zeros(()), found
