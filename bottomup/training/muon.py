"""Muon, for all matrices of one shape at once."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor
from torch.optim import Optimizer

# Coefficients of the quintic whose iteration drives singular values towards 1, and its iterations.
A, B, C, ITERATIONS = 3.4445, -4.7750, 2.0315, 5


class Muon(Optimizer):
    """Steps matrices along their orthogonalized Nesterov momentum (Jordan et al. 2024).

    Up to rounding it computes the same as torch.optim.Muon with `adjust_lr_fn="match_rms_adamw"`:
    a step has the size of Adam's (Liu et al. 2025, section 2.2) and shrinks the weights by
    `weight_decay` times the rate. PyTorch iterates matrix by matrix; a small model has many, and on
    a CPU that takes four times as long. The weights of a convolution are one matrix, with a row for
    each channel that it writes, as in Jordan's code.
    """

    def __init__(
        self, matrices: Iterable[Tensor], momentum: float = 0.95, weight_decay: float = 0.1
    ):
        super().__init__(matrices, {"lr": 0.0, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # it takes no closure
        for group in self.param_groups:
            # Matrices that are frozen, or that the loss does not depend on, have no gradient.
            learning = [matrix for matrix in group["params"] if matrix.grad is not None]
            for shape in dict.fromkeys(matrix.shape for matrix in learning):
                self.step_alike([m for m in learning if m.shape == shape], **group)

    def step_alike(
        self, matrices: list[Tensor], lr: float, momentum: float, weight_decay: float, **_
    ) -> None:
        """Step matrices of one shape; their momenta are stored together with the first."""
        gradients = [matrix.grad for matrix in matrices if matrix.grad is not None]  # all have one
        direction = torch.stack(gradients)
        state = self.state[matrices[0]]
        mean = state.setdefault("momentum_buffer", torch.zeros_like(direction))
        mean.lerp_(direction, 1 - momentum)
        flat = direction.lerp_(mean, momentum).flatten(2)
        steps = orthogonalized(flat).to(direction.dtype).view_as(direction)
        torch._foreach_mul_(matrices, 1 - lr * weight_decay)
        size = 0.2 * math.sqrt(max(flat.shape[1:]))
        torch._foreach_add_(matrices, list(steps), alpha=-lr * size)


def orthogonalized(matrices: Tensor) -> Tensor:
    """Each of `[n, rows, columns]` with singular values near 1, in bfloat16.

    By the Newton-Schulz iteration, which ends between about 0.7 and 1.2.
    """
    x = matrices.bfloat16()
    tall = x.shape[1] > x.shape[2]
    x = x.mT if tall else x
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(ITERATIONS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=B, alpha=C), x, beta=A)
    return x.mT if tall else x
