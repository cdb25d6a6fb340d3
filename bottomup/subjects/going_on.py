"""One layer of a checkpoint alone, going on from any states, whatever its family hands on.

Families differ in what a layer gets besides the states: masks, positions, a bias that the first
layer computes. So the family's own forward pass makes all of it, and the layers that are not asked
for hand on what they get.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from bottomup.subjects.attending import Pass


class Above:
    """The states after the layer that is asked for, once the pass is done."""

    states: Tensor


def stacks(encoder: nn.Module, layers: int) -> Iterator[nn.ModuleList]:
    """What may be the layers of an encoder, from the bottom up: lists of as many modules."""
    for module in encoder.modules():
        if isinstance(module, nn.ModuleList) and len(module) == layers:
            yield module


@contextmanager
def one_layer(stack: nn.ModuleList, layer: int, below: Tensor, seen: Pass) -> Iterator[Above]:
    """A context for a pass in which only `layer` of a stack works, counted from 1, from the states
    `below`; if layers return more than states, the first one works as well, for the rest."""
    above, rest, hooks = Above(), [], []

    def enter(_module: nn.Module, arguments: tuple, keywords: dict) -> tuple[tuple, dict]:
        seen.layer = layer - 1  # so that what is to be hidden in this layer is
        if arguments:
            return (below, *arguments[1:]), keywords
        return arguments, keywords | {"hidden_states": below}

    def leave(_module: nn.Module, _arguments: tuple, output: Tensor | tuple) -> None:
        above.states = output[0] if isinstance(output, tuple) else output

    def note(_module: nn.Module, _arguments: tuple, output: Tensor | tuple) -> None:
        rest.append(output[1:] if isinstance(output, tuple) else None)

    def hand_on(*arguments: object, **keywords: object) -> object:
        states = arguments[0] if arguments else keywords["hidden_states"]
        return states if rest[0] is None else (states, *rest[0])

    wanted, first = stack[layer - 1], stack[0]
    hooks.append(wanted.register_forward_pre_hook(enter, with_kwargs=True))
    hooks.append(wanted.register_forward_hook(leave))
    hooks.append(first.register_forward_hook(note))
    passed = [module for module in stack if module is not wanted and module is not first]
    usual = {module: module.__dict__.get("forward") for module in passed}
    for module in passed:
        module.forward = hand_on
    try:
        yield above
    finally:
        for module, forward in usual.items():
            del module.forward
            if forward is not None:
                module.forward = forward
        for hook in hooks:
            hook.remove()
