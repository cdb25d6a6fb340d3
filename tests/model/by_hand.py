"""The Transformer's parts once more, written as their formulas."""

import torch
from torch import Tensor

from bottomup.model.attention import Attention


def attend(
    attention: Attention, x: Tensor, memory: Tensor, allowed: Tensor
) -> tuple[Tensor, Tensor]:
    """Output `[queries, d]` and weights `[heads, queries, keys]` for one sentence.

    x: `[queries, d]`; memory: `[keys, d]`; allowed: bool `[queries, keys]`.
    """
    d = x.shape[1]
    size = d // attention.heads
    q = x @ attention.query.weight.T + attention.query.bias
    k = memory @ attention.key_value.weight[:d].T + attention.key_value.bias[:d]
    v = memory @ attention.key_value.weight[d:].T + attention.key_value.bias[d:]
    outputs, weights = [], []
    for head in range(attention.heads):
        part = slice(head * size, (head + 1) * size)
        scores = q[:, part] @ k[:, part].T / size**0.5
        exps = torch.where(allowed, scores.exp(), 0.0)
        weights.append(exps / exps.sum(dim=1, keepdim=True))
        outputs.append(attention.gates[head] * (weights[-1] @ v[:, part]))
    return torch.cat(outputs, dim=1) @ attention.out.weight.T + attention.out.bias, torch.stack(
        weights
    )


def norm(layer: torch.nn.LayerNorm, x: Tensor) -> Tensor:
    """Mean 0 and variance 1 over the dimensions, then scaled and shifted."""
    centered = x - x.mean(dim=-1, keepdim=True)
    variance = (centered**2).mean(dim=-1, keepdim=True)
    return layer.weight * centered / (variance + layer.eps).sqrt() + layer.bias


def feed_forward(layer: torch.nn.Module, x: Tensor) -> Tensor:
    """Linear, ReLU, linear."""
    inner = (x @ layer.inner.weight.T + layer.inner.bias).clamp(min=0)
    return inner @ layer.outer.weight.T + layer.outer.bias


def encoder_layer(layer: torch.nn.Module, x: Tensor, allowed: Tensor) -> Tensor:
    """Pre-norm: what a sub-layer reads is normalized, what it is added to is not."""
    normed = norm(layer.attention_norm, x)
    x = x + attend(layer.attention, normed, normed, allowed)[0]
    return x + feed_forward(layer.feed_forward, norm(layer.feed_forward_norm, x))


def decoder_layer(layer: torch.nn.Module, x: Tensor, memory: Tensor) -> Tensor:
    """As the encoder's, causal, with attention to the encoder's states in between."""
    normed = norm(layer.attention_norm, x)
    causal = torch.ones(len(x), len(x)).tril().bool()
    x = x + attend(layer.attention, normed, normed, causal)[0]
    everywhere = torch.ones(len(x), len(memory)).bool()
    x = x + attend(layer.cross, norm(layer.cross_norm, x), memory, everywhere)[0]
    return x + feed_forward(layer.feed_forward, norm(layer.feed_forward_norm, x))


def position(place: int, d: int) -> Tensor:
    """Sines, then cosines, of the place over wavelengths from 1 to 10,000 (x 2 pi)."""
    half = d // 2
    rates = torch.tensor([10_000 ** (-i / (half - 1)) for i in range(half)])
    return torch.cat([(place * rates).sin(), (place * rates).cos()])
