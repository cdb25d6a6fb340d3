"""Dropout whose random numbers cost one byte for each element."""

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Zero each element with probability `p`, and scale the others by 1 / (1 - p).

    On a CPU `torch.nn.Dropout` spends as much time on its random numbers as a small model on its
    matrix products. Here one 64-bit draw serves eight elements. So `p` is rounded to multiples of
    1/256, at most 255/256, and the scale uses the rounded value. A GPU draws as PyTorch does.
    """

    def __init__(self, p: float):
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu":
            return nn.functional.dropout(x, self.p)
        dropped = min(round(256 * self.p), 255)
        words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
        # In place, so that 0 and 1 stay bytes: to and from bool takes PyTorch ten times as long.
        kept = words.view(torch.uint8)[: x.numel()].view(x.shape).ge_(dropped)
        return x * kept.to(x.dtype).mul_(256 / (256 - dropped))
