"""One attention function for all families: it keeps weights, scales heads and hides tokens.

In each layer transformers calls the attention function that the model's config names. Ours calls
the family's own eager function. So it differs from that only as asked, whatever a family adds to
its scores.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from bottomup.subjects.subject import from_others

NAME = "bottomup"


@dataclass
class Pass:
    """One forward pass of a stack whose layers attend once each, from the bottom up.

    gates: the factors of the heads' outputs, `[heads]` for each layer; for a whole model with a
        decoder, for each attention in the order of calls.
    hidden: tokens that no other position sees, bool `[layers, batch, length]`.
    weights: those of each layer so far, `[batch, heads, queries, keys]`, if they are kept.
    """

    gates: Sequence[Tensor] | Tensor | None
    hidden: Tensor | None
    keep: bool
    weights: list[Tensor] = field(default_factory=list)
    layer: int = 0


_current: ContextVar[Pass | None] = ContextVar("current pass", default=None)


@contextmanager
def one_pass(
    gates: Sequence[Tensor] | Tensor | None = None,
    hidden: Tensor | None = None,
    keep: bool = False,
) -> Iterator[Pass]:
    """A context for one forward pass: see `Pass`."""
    current = Pass(gates, hidden, keep)
    token = _current.set(current)
    try:
        yield current
    finally:
        _current.reset(token)


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options,
) -> tuple[Tensor, Tensor]:
    """What transformers calls; the arguments are those of the families' eager attention.

    query: `[batch, heads, queries, d_head]`. key, value: `[batch, key_heads, keys, d_head]`.
    attention_mask: `[batch, 1, queries, keys]`, added to the scores; families call it so or by its
    place. Returns the heads' outputs `[batch, queries,
    heads, d_head]` and the weights `[batch, heads, queries, keys]`.
    """
    eager = sys.modules[type(module).__module__].eager_attention_forward
    current = _current.get()
    if current is None:
        return eager(module, query, key, value, attention_mask, **options)
    layer, current.layer = current.layer, current.layer + 1
    if current.hidden is not None:
        usual = query.new_zeros(()) if attention_mask is None else attention_mask
        least = torch.finfo(usual.dtype).min
        attention_mask = usual.masked_fill(from_others(current.hidden[layer]), least)
    outputs, weights = eager(module, query, key, value, attention_mask, **options)
    if current.keep:
        current.weights.append(weights)
    if current.gates is not None:
        outputs = outputs * current.gates[layer][:, None]
    return outputs, weights


AttentionInterface.register(NAME, attend)
# Without a mask of that name the mask arrives as None, and causal models see later tokens.
AttentionMaskInterface.register(NAME, eager_mask)
