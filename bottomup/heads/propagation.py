"""Layer-wise relevance propagation: how each step hands relevance down, under two rules.

Each step of the network, y = f(x), is a sum of contributions, y_j = sum_i z_ji, and the relevance
R_j of an output is split among its inputs in proportion to their contributions. The shares depend
on the forward pass and not on the prediction. So all predictions of a sentence go down together:
relevance has an axis of predictions, and each step is a few matrix products.

`ratio` follows the text of Voita et al. ACL 2019, after Ding et al. 2017: R_i = sum_j R_j z_ji /
z_j with z_j = sum_i z_ji. The z of its steps are

    linear      W_ji x_i, so that R_i = x_i sum_j W_ji R_j / z_j; the bias takes nothing
    addition    the addends
    product     a and b, for y = a b: R_a = R a / (a + b), R_b = R b / (a + b)

and functions without terms (ReLU, softmax, norm, a scale) pass relevance on unchanged. A head's
output o_td = sum_s a_ts v_sd is a sum of products, and so is the score sum_e q_te k_se behind a_ts.
Nothing bounds z_ji / z_j where contributions cancel. So relevance takes both signs and grows by
orders of magnitude from layer to layer, and this rule needs float64.

`alpha_beta` follows the authors' code as corrected in 2021 (commit 1c42004): the rule of Bach et
al. 2015, equation 60, on first-order terms around 0, with N the number of inputs:

    z_ji = df_j/dx_i x_i + f_j(0) / N
    R_i  = sum_j R_j [ALPHA z+_ji / (sum_i z+_ji + EPSILON) + BETA z-_ji / (sum_i z-_ji - EPSILON)]

where z+ and z- are the positive and the negative part. No relevance becomes negative. It is then
scaled so that it is conserved: at each position for linear maps, norms and additions, in each
sentence and head for attention. The ReLU passes it on unchanged. With bias b the z are

    linear      W_ji x_i + b_j / N
    addition    the addends
    norm        g_j / s (delta_ji - 1 / N - u_j u_i / N) x_i + b_j / N, for g u + b, u = (x - m) / s
    attention   of o = softmax(q k^T / sqrt(d)) v, one head, with q, k and v as inputs of one step:
                to v_sd   a_ts v_sd
                to k_se   A_tsd B_tse,   A_tsd = a_ts (v_sd - o_td),   B_tse = q_te k_se / sqrt(d)
                to q_te   sum_s A_tsd B_tse

The Jacobian of all outputs of a head by all keys, `[queries, d, keys, d]`, need not be formed.
Since (A B)+ = A+ B+ + A- B- and (A B)- = A+ B- + A- B+, the sums over dimensions separate into
matrix products with A+, A-, B+ and B-. The z of a linear map must be formed, since their signs
change with the position; this is done for as many positions at once as fit into `CHUNK` numbers.

Two departures from that code: the scaling is exact, while the code adds EPSILON to the sum that it
divides by; and final norms are propagated like the others, while the code skips them.
"""

from collections.abc import Callable
from functools import reduce
from typing import Protocol

import torch
from torch import Tensor, nn

ALPHA = BETA = 0.5
EPSILON = 1e-5
# Under `ratio`, contributions are divided by this if their sum is closer to 0.
VANISHING = 1e-12
# Contributions of a linear map to form at once: they fit into a CPU's cache.
CHUNK = 2**18


class Rule(Protocol):
    """How relevance goes down through each kind of step.

    Activations are `[..., n]`, relevance `[..., predictions, n]` with the same leading axes.
    dtype: the number format that the rule needs.
    """

    dtype: torch.dtype

    def logit(self, contributions: Tensor) -> Tensor:
        """Split a relevance of 1 among the contributions `[..., n]` that make up one number."""

    def linear(self, relevance: Tensor, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """From the outputs of `weight x + bias` to x. weight: `[outputs, inputs]`."""

    def norm(self, relevance: Tensor, x: Tensor, norm: nn.LayerNorm) -> Tensor:
        """From the outputs of layer normalization to x."""

    def add(self, relevance: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """From x + y to x and to y."""

    def attention(
        self, relevance: Tensor, queries: Tensor, keys: Tensor, values: Tensor, weights: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """From heads' outputs to queries, keys and values.

        relevance: `[batch, heads, queries, predictions, d_head]`; queries, keys and values:
        `[batch, heads, length, d_head]`; weights: `[batch, heads, queries, keys]`.
        """


class Ratio:
    """The paper's text; see the module."""

    dtype = torch.float64

    def logit(self, contributions: Tensor) -> Tensor:
        return contributions / apart_from_zero(contributions.sum(dim=-1, keepdim=True))

    def linear(self, relevance: Tensor, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        sums = apart_from_zero(x @ weight.T)
        return x[..., None, :] * ((relevance / sums[..., None, :]) @ weight)

    def norm(self, relevance: Tensor, x: Tensor, norm: nn.LayerNorm) -> Tensor:
        return relevance

    def add(self, relevance: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        shares = relevance / apart_from_zero(x + y)[..., None, :]
        return shares * x[..., None, :], shares * y[..., None, :]

    def attention(
        self, relevance: Tensor, queries: Tensor, keys: Tensor, values: Tensor, weights: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        # Scaling the scores, like any step with one input, passes relevance on unchanged.
        products = weights[..., None] * values[..., None, :, :]  # [..., queries, keys, d_head]
        shares = relevance / apart_from_zero(products.sum(dim=-2))[..., None, :]
        products /= apart_from_zero(weights[..., None] + values[..., None, :, :])
        to_values = torch.einsum("...tnd,...tsd->...snd", shares, products) * values[..., None, :]
        to_scores = (shares @ products.mT) * weights[..., None, :]  # [..., queries, n, keys]

        products = queries[..., :, None, :] * keys[..., None, :, :]
        shares = to_scores / apart_from_zero(products.sum(dim=-1))[..., None, :]
        products /= apart_from_zero(queries[..., :, None, :] + keys[..., None, :, :])
        to_queries = (shares @ products) * queries[..., None, :]
        to_keys = torch.einsum("...tns,...tsd->...snd", shares, products) * keys[..., None, :]
        return to_queries, to_keys, to_values


class AlphaBeta:
    """The authors' code; see the module."""

    dtype = torch.float32

    def logit(self, contributions: Tensor) -> Tensor:
        (relevance,) = conserved(
            torch.ones_like(contributions[..., :1]), [fractions(contributions)], dims=(-1,)
        )
        return relevance

    def linear(self, relevance: Tensor, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        shift = bias[:, None] / x.shape[-1]
        return by_position(
            relevance, x, weight.numel(), lambda x: torch.addcmul(shift, weight, x[:, None, :])
        )

    def norm(self, relevance: Tensor, x: Tensor, norm: nn.LayerNorm) -> Tensor:
        d = x.shape[-1]
        shift = norm.bias[:, None] / d
        centering = torch.eye(d, dtype=x.dtype, device=x.device) - 1 / d

        def contributions(x: Tensor) -> Tensor:
            centered = x - x.mean(dim=-1, keepdim=True)
            scale = (centered.square().mean(dim=-1, keepdim=True) + norm.eps).rsqrt()
            unit = centered * scale
            slope = torch.addcmul(centering, unit[:, :, None], unit[:, None, :], value=-1 / d)
            return (norm.weight * scale)[:, :, None] * slope * x[:, None, :] + shift

        return by_position(relevance, x, d * d, contributions)

    def add(self, relevance: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        shares = fractions(torch.stack([x, y], dim=-1))[..., None, :, :]  # [..., 1, n, 2]
        to_x, to_y = conserved(
            relevance, [relevance * shares[..., 0], relevance * shares[..., 1]], dims=(-1,)
        )
        return to_x, to_y

    def attention(
        self, relevance: Tensor, queries: Tensor, keys: Tensor, values: Tensor, weights: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        outputs = weights @ values
        a = weights[..., None] * (values[..., None, :, :] - outputs[..., :, None, :])
        b = queries[..., :, None, :] * keys[..., None, :, :] / queries.shape[-1] ** 0.5
        to_queries = a.mT @ b  # [..., queries, d_head of outputs, d_head of queries]
        a_up, a_down, b_up, b_down = a.clamp(min=0), a.clamp(max=0), b.clamp(min=0), b.clamp(max=0)
        b_ups, b_downs = b_up.sum(dim=-1, keepdim=True), b_down.sum(dim=-1, keepdim=True)

        ups = to_queries.clamp(min=0).sum(dim=-1) + weights @ values.clamp(min=0)
        ups += (a_up * b_ups + a_down * b_downs).sum(dim=-2)
        downs = to_queries.clamp(max=0).sum(dim=-1) + weights @ values.clamp(max=0)
        downs += (a_up * b_downs + a_down * b_ups).sum(dim=-2)
        up = relevance * (ALPHA / (ups + EPSILON))[..., None, :]  # [..., queries, n, d_head]
        down = relevance * (BETA / (downs - EPSILON))[..., None, :]

        for_b_up = up @ a_up.mT + down @ a_down.mT  # [..., queries, n, keys]
        for_b_down = up @ a_down.mT + down @ a_up.mT
        over_queries = "...tns,...tsd->...snd"
        received = [
            up @ to_queries.clamp(min=0) + down @ to_queries.clamp(max=0),
            torch.einsum(over_queries, for_b_up, b_up)
            + torch.einsum(over_queries, for_b_down, b_down),
            torch.einsum("...ts,...tnd->...snd", weights, up) * values.clamp(min=0)[..., None, :]
            + torch.einsum("...ts,...tnd->...snd", weights, down)
            * values.clamp(max=0)[..., None, :],
        ]
        to_queries, to_keys, to_values = conserved(relevance, received, dims=(-3, -1))
        return to_queries, to_keys, to_values


RULES: dict[str, Rule] = {"ratio": Ratio(), "alpha_beta": AlphaBeta()}


def apart_from_zero(sums: Tensor) -> Tensor:
    """`sums`, moved to +-VANISHING where they are nearer to 0."""
    return torch.where(
        sums.abs() < VANISHING, torch.full_like(sums, VANISHING).copysign(sums), sums
    )


def fractions(contributions: Tensor) -> Tensor:
    """What an output of relevance 1 gives to each of its contributions `[..., inputs]`.

    Never negative. The sum is ALPHA or BETA if all contributions have one sign, else 1. Overwrites
    the contributions.
    """
    up, down = contributions.clamp(min=0), contributions.clamp_(max=0)
    up *= ALPHA / (up.sum(dim=-1, keepdim=True) + EPSILON)
    down *= BETA / (down.sum(dim=-1, keepdim=True) - EPSILON)
    return up.add_(down)


def conserved(relevance: Tensor, received: list[Tensor], dims: tuple[int, ...]) -> list[Tensor]:
    """`received`, scaled so that its sum over `dims` equals that of `relevance`, unless it is 0."""
    sums = reduce(torch.add, (part.sum(dim=dims, keepdim=True) for part in received))
    scale = relevance.sum(dim=dims, keepdim=True) / torch.where(sums > 0, sums, 1)
    return [part * scale for part in received]


def by_position(
    relevance: Tensor, x: Tensor, size: int, contributions: Callable[[Tensor], Tensor]
) -> Tensor:
    """Relevance through a step that reads each position by itself, CHUNK numbers at once.

    contributions: a function of activations `[positions, inputs]` that returns
    `[positions, outputs, inputs]`, `size` numbers for each position.
    """
    at_once = max(1, CHUNK // max(1, size))
    parts = zip(
        relevance.flatten(0, -3).split(at_once), x.flatten(0, -2).split(at_once), strict=True
    )
    down = []
    for given, inputs in parts:
        down += conserved(given, [given @ fractions(contributions(inputs))], dims=(-1,))
    return torch.cat(down).unflatten(0, x.shape[:-1])
