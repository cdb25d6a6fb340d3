"""One attention function for all families: it keeps weights, scales heads and hides tokens.

In each layer a family asks transformers for the attention function that its config names. Within a
pass it gets ours, which calls the family's own. The config still says "eager", so that families do
by themselves what they do for this name alone: some mask the keys that they do not select.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook
from transformers import AttentionInterface
from transformers.pytorch_utils import Conv1D

from bottomup.subjects.subject import from_others, projected_norms


@dataclass
class Pass:
    """One forward pass of a stack whose layers attend once each, from the bottom up.

    gates: the factors of the heads' outputs, `[heads]` for each layer; for a whole model with a
        decoder, for each attention in the order of calls.
    hidden: tokens that no other position sees, bool `[layers, batch, length]`.
    keep: whether to keep weights, values and outputs.
    weights: those of each layer so far, `[batch, heads, queries, keys]`, if kept.
    masks: what was added to the scores of each layer so far, as in `attend`, if kept.
    layer: the number of layers that have attended.
    value, outputs: those of the last of these layers, as in `attend`, if kept.
    """

    gates: Sequence[Tensor] | Tensor | None
    hidden: Tensor | None
    keep: bool
    weights: list[Tensor] = field(default_factory=list)
    masks: list[Tensor | None] = field(default_factory=list)
    layer: int = 0
    value: Tensor | None = None
    outputs: Tensor | None = None


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
    usual: Callable,
    current: Pass,
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options,
) -> tuple[Tensor, Tensor]:
    """What a family calls within a pass: its own attention function, `usual`, and what is asked.

    query: `[batch, heads, queries, d_head]`. key, value: `[batch, key_heads, keys, d_head]`.
    attention_mask: `[batch, 1, queries, keys]`, added to the scores; some families pass it by name.
    Returns the heads' outputs `[batch, queries, heads, d_head]` and the weights `[batch, heads,
    queries, keys]`.
    """
    layer, current.layer = current.layer, current.layer + 1
    if current.keep:
        current.masks.append(attention_mask)
    if current.hidden is not None:
        mask = query.new_zeros(()) if attention_mask is None else attention_mask
        least = torch.finfo(mask.dtype).min
        attention_mask = mask.masked_fill(from_others(current.hidden[layer]), least)
    outputs, weights = usual(module, query, key, value, attention_mask, **options)
    if current.keep:
        current.weights.append(weights)
        current.value, current.outputs = value, outputs
    if current.gates is not None:
        outputs = outputs * current.gates[layer][:, None]
    return outputs, weights


def seen_by_mask(mask: Tensor | None, usual: Tensor) -> Tensor:
    """Which keys each query of one sentence sees, bool `[queries, keys]`: of the `usual` ones those
    that the mask of `attend` does not shut out, as that of a sliding window does."""
    if mask is None or mask.shape[-1] != len(usual):
        return usual
    seen = mask > torch.finfo(mask.dtype).min / 2 if mask.is_floating_point() else mask.bool()
    return usual & seen.flatten(0, -3).any(dim=0).cpu()


@contextmanager
def value_norms(seen: Pass) -> Iterator[list[Tensor]]:
    """A context for a pass that keeps weights. It fills the list with |f(x)| of each layer (see
    `Subject.value_norms`).

    A layer's output projection is the linear map whose input is exactly the heads' output. The list
    lacks layers without one, as in families that put a norm or a gate before it, and layers whose
    heads put out something else than the weighted sum of their values.
    """
    norms: list[Tensor] = []

    def see(module: nn.Module, inputs: tuple) -> None:
        value, outputs = seen.value, seen.outputs
        if value is None or outputs is None or not isinstance(module, nn.Linear | Conv1D):
            return
        if not torch.equal(inputs[0].flatten(), outputs.flatten()):
            return
        weights, seen.value = seen.weights[-1], None
        values = value.repeat_interleave(weights.shape[1] // value.shape[1], dim=1)
        if torch.allclose((weights @ values).transpose(1, 2), outputs, rtol=1e-4, atol=1e-5):
            is_linear = isinstance(module, nn.Linear)
            projection = module.weight if is_linear else module.weight.T
            norms.append(projected_norms(values, projection))

    hook = register_module_forward_pre_hook(see)
    try:
        yield norms
    finally:
        hook.remove()


_usual_interface = AttentionInterface.get_interface


def _interface(functions: AttentionInterface, name: str, default: Callable) -> Callable:
    """What transformers hands to a family that asks for its attention function."""
    usual, current = _usual_interface(functions, name, default), _current.get()
    return usual if current is None else partial(attend, usual, current)


# Registered under a name, ours would not learn which function is the family's.
AttentionInterface.get_interface = _interface
