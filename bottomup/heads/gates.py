"""Hard-Concrete gates, which training opens or closes (Louizos et al. 2018; Voita et al. ACL 2019,
section 6.1)."""

import math

import torch
from torch import Tensor, nn

TEMPERATURE = 0.33
# Bounds to which the concrete distribution is stretched before it is clipped to 0 and 1.
LOW, HIGH = -0.1, 1.1
# A noise of exactly 0 or 1 has no logit.
EDGE = 1e-6


class HardConcrete(nn.Module):
    """A random gate, 0 to 1, for each of `n_heads` heads, with one parameter each, `log_alpha`.

        s = sigmoid((ln u - ln(1 - u) + log_alpha) / TEMPERATURE),   u uniform between 0 and 1
        g = clip(s (HIGH - LOW) + LOW, 0, 1)

    so that g is exactly 0, and exactly 1, with probabilities above 0. The authors' code gives
    log_alpha no initializer, which in its library means a uniform draw around 0; here it starts at
    `initial` for every head, so that no head has a lead.
    """

    def __init__(self, n_heads: int, initial: float = 0.0):
        super().__init__()
        self.log_alpha = nn.Parameter(torch.full((n_heads,), initial))

    def sample(self, noise: Tensor | None = None) -> Tensor:
        """Gates `[n_heads]` for one batch, all of whose sentences share them.

        noise: the u, `[n_heads]`, between 0 and 1; drawn if not given.
        """
        u = torch.rand_like(self.log_alpha) if noise is None else noise
        u = EDGE + (1 - 2 * EDGE) * u
        return stretched(torch.sigmoid((u.logit() + self.log_alpha) / TEMPERATURE))

    def deterministic(self) -> Tensor:
        """Gates without noise, as the authors' code uses them in inference: `[n_heads]`, 0 to 1.

        0 where log_alpha <= -ln 11 = -2.4, 1 where it is >= ln 11, and between them in between.
        """
        return stretched(torch.sigmoid(self.log_alpha))

    def open_probability(self) -> Tensor:
        """P(g > 0), `[n_heads]`: sigmoid(log_alpha - TEMPERATURE ln(-LOW / HIGH))."""
        p = torch.sigmoid(self.log_alpha - TEMPERATURE * math.log(-LOW / HIGH))
        return p.clamp(EDGE, 1 - EDGE)

    def kept(self) -> Tensor:
        """Gates of 0 and 1, whichever is the more probable value of g: `[n_heads]`, float.

        P(g = 1) > P(g = 0) where log_alpha > 0 (Voita et al., section 6.1).
        """
        return (self.log_alpha > 0).to(self.log_alpha.dtype)


def stretched(s: Tensor) -> Tensor:
    return (s * (HIGH - LOW) + LOW).clamp(0, 1)


def penalty(gates: list[HardConcrete]) -> Tensor:
    """What is added to the loss per unit of the config's `penalty`, for a gate module per layer.

    As in the authors' code: the expected number of open heads of a layer, mean over layers. The
    paper writes the sum over all heads (equation 9): its lambda is ours over `len(gates)`.
    """
    return torch.stack([gate.open_probability().sum() for gate in gates]).mean()
