"""Long short-term memory (Hochreiter and Schmidhuber 1997)."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn

from bottomup.core.precision import multiplies_bfloat16
from bottomup.model.trunks import backwards

GATES = 4  # input, forget, cell, output: in this order in PyTorch's matrices
ADDS_FROM = 2  # as in ELMo (Peters et al. 2018, section 3.4)


class Layer(nn.Module):
    """An LSTM from the left, or two side by side, one from each side and half as wide."""

    def __init__(self, width: int, one_way: bool):
        super().__init__()
        directions = 1 if one_way else 2
        self.lstms = nn.ModuleList(lstm(width, width // directions) for _ in range(directions))

    def forward(self, x: Tensor, tokens: Tensor) -> Tensor:
        with computable(x.device):
            ways = [self.lstms[0](x)[0]]
            for from_right in self.lstms[1:]:
                ways.append(backwards(from_right(backwards(x, tokens))[0], tokens))
        return torch.cat(ways, dim=-1)


def computable(device: torch.device) -> AbstractContextManager:
    """A context in float32 on a CPU that does not multiply bfloat16: there PyTorch cannot run an
    LSTM in it."""
    if device.type == "cpu" and not multiplies_bfloat16(device):
        return torch.autocast("cpu", enabled=False)
    return nullcontext()


class Lstm(nn.LSTM):
    """An LSTM that is always in training mode, through which alone cuDNN computes gradients. It has
    no dropout, so its output is the same."""

    def train(self, mode: bool = True) -> "Lstm":
        return super().train(True)


def lstm(width: int, out: int) -> Lstm:
    """An LSTM that remembers at first: biases are 0, those of the forget gate 1 (Jozefowicz et al.
    2015)."""
    layer = Lstm(width, out, batch_first=True)
    biases = [layer.get_parameter(name) for name in ("bias_ih_l0", "bias_hh_l0")]
    for bias in biases:
        nn.init.zeros_(bias)
    nn.init.ones_(biases[0].chunk(GATES)[1])
    return layer
