"""Hard-Concrete gates, which training opens or closes (Louizos et al. 2018; Voita et al. ACL 2019,
section 6.1)."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

TEMPERATURE = 0.33
# Bounds to which the concrete distribution is stretched before it is clipped to 0 and 1.
LOW, HIGH = -0.1, 1.1
# A noise of exactly 0 or 1 has no logit.
EDGE = 1e-6


class HardConcrete(nn.Module):
    """A random gate, 0 to 1, for each of some heads, which training opens or closes.

    With one parameter `log_alpha` a gate, and u drawn uniformly between 0 and 1::

        s = sigmoid((ln u - ln(1 - u) + log_alpha) / TEMPERATURE)
        g = clip(s (HIGH - LOW) + LOW, 0, 1)

    so that g is exactly 0, and exactly 1, with probabilities above 0 (Louizos et al. 2018; Voita
    et al. ACL 2019, section 6.1). The authors' code gives log_alpha no initializer, which in its
    library means a uniform draw around 0; here all gates start alike, so that no head has a lead.

    Parameters
    ----------
    n_heads : int
        How many gates.
    initial : float, default=0.0
        Where each `log_alpha` starts.

    Attributes
    ----------
    log_alpha : torch.nn.Parameter of shape (n_heads,)
        The larger, the more often open.

    Examples
    --------
    >>> import torch
    >>> gates = HardConcrete(3)
    >>> _ = gates.log_alpha.data.copy_(torch.tensor([-3.0, 0.0, 3.0]))
    >>> gates.deterministic().tolist()
    [0.0, 0.5, 1.0]
    >>> [round(p, 2) for p in gates.open_probability().tolist()]
    [0.1, 0.69, 0.98]
    >>> gates.kept().tolist()
    [0.0, 0.0, 1.0]
    >>> gates.sample().shape
    torch.Size([3])
    """

    def __init__(self, n_heads: int, initial: float = 0.0):
        super().__init__()
        self.log_alpha = nn.Parameter(torch.full((n_heads,), initial))

    def sample(self, noise: Tensor | None = None) -> Tensor:
        """Gates for one batch, all of whose sentences share them.

        Parameters
        ----------
        noise : Tensor of shape (n_heads,), optional
            The u of each gate, between 0 and 1; drawn if not given.

        Returns
        -------
        Tensor of shape (n_heads,)
            From 0 to 1, with gradients for `log_alpha`.
        """
        u = torch.rand_like(self.log_alpha) if noise is None else noise
        u = EDGE + (1 - 2 * EDGE) * u
        return stretched(torch.sigmoid((u.logit() + self.log_alpha) / TEMPERATURE))

    def deterministic(self) -> Tensor:
        """Gates without noise, as the authors' code uses them in inference.

        Returns
        -------
        Tensor of shape (n_heads,)
            0 where log_alpha is at most -ln 11 = -2.4, 1 where it is at least ln 11, else between
            these.
        """
        return stretched(torch.sigmoid(self.log_alpha))

    def open_probability(self) -> Tensor:
        """The probability that a gate is above 0.

        Returns
        -------
        Tensor of shape (n_heads,)
            P(g > 0) = sigmoid(log_alpha - TEMPERATURE ln(-LOW / HIGH)).
        """
        p = torch.sigmoid(self.log_alpha - TEMPERATURE * math.log(-LOW / HIGH))
        return p.clamp(EDGE, 1 - EDGE)

    def kept(self) -> Tensor:
        """Which heads to keep: gates of 0 and 1, whichever is the more probable value.

        Returns
        -------
        Tensor of shape (n_heads,)
            1.0 where P(g = 1) > P(g = 0), which is where log_alpha > 0 (Voita et al. ACL 2019,
            section 6.1), else 0.0.
        """
        return (self.log_alpha > 0).to(self.log_alpha.dtype)


def stretched(s: Tensor) -> Tensor:
    return (s * (HIGH - LOW) + LOW).clamp(0, 1)


def penalty(gates: Iterable[HardConcrete]) -> Tensor:
    """What gates add to the loss, per unit of the config's key `penalty`.

    The expected number of open heads of a layer, mean over layers, as in the authors' code. The
    paper writes the sum over all heads (equation 9): its lambda is ours over `len(gates)`.

    Parameters
    ----------
    gates : iterable of HardConcrete
        One module for each layer.

    Returns
    -------
    Tensor of shape ()
        In heads, from 0 to the number of heads in a layer, with gradients.

    Examples
    --------
    >>> from bottomup.heads.gates import HardConcrete
    >>> open_, closed = HardConcrete(8, initial=50.0), HardConcrete(8, initial=-50.0)
    >>> round(penalty([open_, closed]).item(), 3)
    4.0
    """
    return torch.stack([gate.open_probability().sum() for gate in gates]).mean()
