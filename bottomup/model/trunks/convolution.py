"""Gated convolutions (Dauphin et al. 2017, Gehring et al. 2017)."""

from torch import Tensor, nn
from torch.nn import functional

GATES = 2  # the output, and how much of it passes
ADDS_FROM = 1
# Tokens that a layer sees: with 5 a layer has 10 d_model^2 weights; a Transformer's has 12.
KERNEL = 5


class Layer(nn.Module):
    """Norm, convolution, gated linear unit. Each position sees `KERNEL` tokens, of which it is the
    last (`one_way`) or the middle one. Beyond the ends of a sentence there are zeros."""

    def __init__(self, width: int, one_way: bool):
        super().__init__()
        before = KERNEL - 1 if one_way else KERNEL // 2
        self.around = (before, KERNEL - 1 - before)
        self.norm = nn.LayerNorm(width)
        self.convolution = nn.Conv1d(width, GATES * width, KERNEL)
        nn.init.zeros_(self.convolution.get_parameter("bias"))

    def forward(self, x: Tensor, tokens: Tensor) -> Tensor:
        x = self.norm(x) * tokens[..., None]
        x = self.convolution(functional.pad(x.mT, self.around)).mT
        return functional.glu(x, dim=-1)
