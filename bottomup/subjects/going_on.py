"""Running one layer of a checkpoint alone, from any states, in any family.

Families differ in what a layer gets besides the states: masks, positions, a bias that the first
layer computes. So the family's own forward pass computes all of that, and the layers that are not
asked for return the states that they get.
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
    """A context for a pass in which only `layer` of a stack, counted from 1, is run on the states
    `below`.

    The first layer runs, too: other layers return what it returns besides states.
    """
    above, rest, hooks = Above(), [], []

    def enter(_module: nn.Module, arguments: tuple, keywords: dict) -> tuple[tuple, dict]:
        seen.layer = layer - 1  # so that `attend` hides the tokens of this layer
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
