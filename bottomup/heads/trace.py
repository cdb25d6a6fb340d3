"""A forward pass without dropout that keeps what the measures of heads need."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from bottomup.model.attention import Attention
from bottomup.model.transformer import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Transformer,
    padding_mask,
)


@dataclass(frozen=True)
class AttentionStep:
    """`x + update`, where the update is attention of norm(x) to a memory.

    kind: "encoder", "decoder" (self-attention) or "cross".
    x, normed, update: `[batch, length, d_model]`.
    memory: `[batch, keys, d_model]`; None for self-attention, which reads `normed`.
    queries: `[batch, heads, length, d_head]`; keys, values: `[batch, heads, keys, d_head]`.
    weights: `[batch, heads, length, keys]`; rows sum to 1.
    outputs: the heads' outputs before gates and output projection, `[batch, length, d_model]`.
    """

    kind: str
    module: Attention
    norm: nn.LayerNorm
    x: Tensor
    normed: Tensor
    memory: Tensor | None
    queries: Tensor
    keys: Tensor
    values: Tensor
    weights: Tensor
    outputs: Tensor
    update: Tensor


@dataclass(frozen=True)
class FeedForwardStep:
    """`x + update`, where the update is the feed-forward network of norm(x).

    x, normed, update: `[batch, length, d_model]`; inner: after the ReLU, `[batch, length, d_ff]`.
    """

    module: FeedForward
    norm: nn.LayerNorm
    x: Tensor
    normed: Tensor
    inner: Tensor
    update: Tensor


Step = AttentionStep | FeedForwardStep


@dataclass(frozen=True)
class Stack:
    """Encoder or decoder: its steps from the bottom up, and the residual stream at their top.

    top: `[batch, length, d_model]`; states: the same after the final norm.
    """

    steps: list[Step]
    norm: nn.LayerNorm
    top: Tensor
    states: Tensor


@dataclass(frozen=True)
class Trace:
    """A whole forward pass; `decoder` is None if the model has none."""

    encoder: Stack
    decoder: Stack | None

    @property
    def states(self) -> Tensor:
        """What the output layer reads, as `Transformer.forward` returns it."""
        return (self.decoder or self.encoder).states

    def attentions(self) -> Iterator[AttentionStep]:
        """All attention steps from the bottom up, the encoder's first."""
        for stack in (self.encoder, self.decoder):
            yield from (s for s in (stack.steps if stack else []) if isinstance(s, AttentionStep))


@torch.no_grad()
def trace(model: Transformer, source: Tensor, target: Tensor | None = None) -> Trace:
    """Run `model`, in its own number format, on padded ids as `Transformer.forward` does.

    source: `[batch, length]`; target: `[batch, target_length]`, None without a decoder.
    """
    encoder = encode(model, source)
    if target is None:
        return Trace(encoder, None)
    return Trace(encoder, decode(model, target[:, :-1], encoder.states, padding_mask(source)))


def encode(model: Transformer, source: Tensor) -> Stack:
    """The encoder's part of `trace`."""
    encoder = model.encoder
    mask = causal_mask(source.shape[1], source) if encoder.causal else encoder.mask(source)
    x = model.encoder.embed(source)
    steps: list[Step] = []
    for layer in model.encoder.layers:
        steps.append(attend("encoder", layer.attention, layer.attention_norm, x, None, mask))
        steps.append(feed_forward(layer, steps[-1].x + steps[-1].update))
        x = steps[-1].x + steps[-1].update
    return Stack(steps, model.encoder.norm, x, model.encoder.norm(x))


def decode(model: Transformer, previous: Tensor, memory: Tensor, mask: Tensor | None) -> Stack:
    """The decoder's part; arguments are those of `Decoder.forward`."""
    x = model.decoder.embed(previous)
    steps: list[Step] = []
    causal = causal_mask(x.shape[1], x)
    for layer in model.decoder.layers:
        steps.append(attend("decoder", layer.attention, layer.attention_norm, x, None, causal))
        x = steps[-1].x + steps[-1].update
        steps.append(attend("cross", layer.cross, layer.cross_norm, x, memory, mask))
        steps.append(feed_forward(layer, steps[-1].x + steps[-1].update))
        x = steps[-1].x + steps[-1].update
    return Stack(steps, model.decoder.norm, x, model.decoder.norm(x))


def causal_mask(length: int, like: Tensor) -> Tensor:
    """True where a position may be attended to, `[length, length]`."""
    return torch.ones(length, length, dtype=torch.bool, device=like.device).tril()


def attend(
    kind: str,
    module: Attention,
    norm: nn.LayerNorm,
    x: Tensor,
    memory: Tensor | None,
    mask: Tensor | None,
) -> AttentionStep:
    """One attention, with `Attention.forward`'s mask."""
    normed = norm(x)
    queries = module.split_heads(module.query(normed))
    keys, values = module.keys_and_values(normed if memory is None else memory)
    scores = queries @ keys.mT / queries.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    outputs = (weights @ values).transpose(1, 2).flatten(2)
    update = functional.linear(outputs, module.gated_output(), module.out.bias)
    return AttentionStep(
        kind, module, norm, x, normed, memory, queries, keys, values, weights, outputs, update
    )


def feed_forward(layer: EncoderLayer | DecoderLayer, x: Tensor) -> FeedForwardStep:
    """The feed-forward network of an encoder or decoder layer."""
    module = layer.feed_forward
    normed = layer.feed_forward_norm(x)
    inner = module.inner(normed).relu()
    return FeedForwardStep(module, layer.feed_forward_norm, x, normed, inner, module.outer(inner))
