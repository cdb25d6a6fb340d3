"""Each step of each rule, beside its definition."""

import pytest
import torch
from torch import Tensor, nn

from bottomup.heads import propagation
from bottomup.heads.propagation import RULES
from tests.heads import explicit

BATCH, LENGTH, KEYS, PREDICTIONS, D, OUT, HEADS, D_HEAD = 2, 3, 4, 5, 6, 7, 2, 3
EXACT = {"rtol": 1e-9, "atol": 1e-12}
ALPHA_BETA, RATIO = RULES["alpha_beta"], RULES["ratio"]


def normal(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def relevances(*shape: int) -> Tensor:
    """Some for each of PREDICTIONS; not negative, and none at all for the last."""
    relevance = normal(*shape[:-1], PREDICTIONS, shape[-1], seed=9).abs()
    relevance[..., -1, :] = 0
    return relevance


X, Y = normal(BATCH, LENGTH, D), normal(BATCH, LENGTH, D, seed=1)
WEIGHT, BIAS = normal(OUT, D, seed=2), normal(OUT, seed=3)
QUERIES = normal(BATCH, HEADS, LENGTH, D_HEAD, seed=4)
K, V = normal(BATCH, HEADS, KEYS, D_HEAD, seed=5), normal(BATCH, HEADS, KEYS, D_HEAD, seed=6)
ALLOWED = torch.ones(LENGTH, KEYS).tril(1).bool()
SCORES = (QUERIES @ K.mT / D_HEAD**0.5).masked_fill(~ALLOWED, float("-inf"))
ATTENTION = (QUERIES, K, V, SCORES.softmax(dim=-1))
FROM_OUT, FROM_D = relevances(BATCH, LENGTH, OUT), relevances(BATCH, LENGTH, D)
FROM_HEADS = relevances(BATCH, HEADS, LENGTH, D_HEAD)


@pytest.fixture
def norm() -> nn.LayerNorm:
    norm = nn.LayerNorm(D).double()
    with torch.no_grad():
        norm.weight.copy_(normal(D, seed=7))
        norm.bias.copy_(normal(D, seed=8))
    return norm


@pytest.fixture(autouse=True)
def several_chunks(monkeypatch):
    monkeypatch.setattr(propagation, "CHUNK", 2 * D * OUT)


def same_by_position(found: list[Tensor], function, relevance: Tensor, *inputs: Tensor):
    """Compare with whole Jacobians, at each position of each sentence for each prediction."""
    for row in range(BATCH):
        for n in range(PREDICTIONS):
            expected = explicit.by_position(
                function, relevance[row, :, n], *(x[row] for x in inputs)
            )
            for part, other in zip(found, expected, strict=True):
                torch.testing.assert_close(part[row, :, n], other, **EXACT)


def test_alpha_beta_linear():
    found = ALPHA_BETA.linear(FROM_OUT, X, WEIGHT, BIAS)
    same_by_position([found], lambda x: x @ WEIGHT.T + BIAS, FROM_OUT, X)


def test_alpha_beta_norm(norm):
    found = ALPHA_BETA.norm(FROM_D, X, norm)
    same_by_position([found], norm, FROM_D, X)


def test_alpha_beta_addition():
    same_by_position(list(ALPHA_BETA.add(FROM_D, X, Y)), torch.add, FROM_D, X, Y)


def test_alpha_beta_logit():
    found = ALPHA_BETA.logit(WEIGHT[0] * X)
    one = torch.ones(BATCH, LENGTH, PREDICTIONS, 1).double()
    expanded = found[:, :, None].expand(-1, -1, PREDICTIONS, -1)
    same_by_position([expanded], lambda x: (WEIGHT[0] @ x)[None], one, X)


def test_alpha_beta_attention():
    found = ALPHA_BETA.attention(FROM_HEADS, *ATTENTION)
    for row in range(BATCH):
        for head in range(HEADS):
            for n in range(PREDICTIONS):
                expected = explicit.relprop(
                    lambda q, k, v: explicit.attend(q, k, v, ALLOWED),
                    FROM_HEADS[row, head, :, n],
                    *(x[row, head] for x in (QUERIES, K, V)),
                )
                for part, other in zip(found, expected, strict=True):
                    torch.testing.assert_close(part[row, head, :, n], other, **EXACT)


def test_alpha_beta_of_contributions_of_one_sign_shares_like_them():
    """Nothing else competes for an output, so its relevance goes as z / sum z."""
    x, weight = X.abs(), WEIGHT.abs()
    z = weight * x[..., None, :]
    expected = FROM_OUT @ (z / (z.sum(dim=-1, keepdim=True) + 1e-5))
    found = ALPHA_BETA.linear(FROM_OUT, x, weight, torch.zeros(OUT))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=0)


def test_alpha_beta_shares_the_bias():
    """Without input only the bias is left, an equal part of it for each input."""
    found = ALPHA_BETA.linear(FROM_OUT, torch.zeros_like(X), WEIGHT, BIAS)
    expected = FROM_OUT.sum(dim=-1, keepdim=True).expand_as(found) / D
    torch.testing.assert_close(found, expected, **EXACT)


def test_ratio_linear():
    found = RATIO.linear(FROM_OUT, X, WEIGHT, BIAS)
    z = WEIGHT * X[..., None, :]
    expected = torch.einsum("blno,bloi->blni", FROM_OUT, z / z.sum(dim=-1, keepdim=True))
    torch.testing.assert_close(found, expected, **EXACT)


def test_ratio_through_linear_maps_is_input_times_gradient():
    """With z_j in the denominator of one step and the numerator of the next, a chain telescopes."""
    second = normal(1, OUT, seed=10)
    relevance = torch.ones(BATCH, LENGTH, 1, 1).double()
    hidden = RATIO.linear(relevance, X @ WEIGHT.T, second, torch.zeros(1))
    found = RATIO.linear(hidden, X, WEIGHT, torch.zeros(OUT))[:, :, 0]
    gradient = second @ WEIGHT
    torch.testing.assert_close(found, X * gradient / (X @ gradient.T), **EXACT)


def test_ratio_addition():
    to_x, to_y = RATIO.add(FROM_D, X, Y)
    torch.testing.assert_close(to_x, FROM_D * (X / (X + Y))[:, :, None], **EXACT)
    torch.testing.assert_close(to_y, FROM_D * (Y / (X + Y))[:, :, None], **EXACT)


def test_ratio_passes_norms(norm):
    assert torch.equal(RATIO.norm(FROM_D, X, norm), FROM_D)


def ratio_of_sum_of_products(relevance: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """From sum_i a_i b_i to all a_i and b_i."""
    products = relevance * a * b / (a * b).sum()
    return products * a / (a + b), products * b / (a + b)


def test_ratio_attention():
    found = RATIO.attention(FROM_HEADS, *ATTENTION)
    for row in range(BATCH):
        for head in range(HEADS):
            for n in range(PREDICTIONS):
                q, k, v, weights = (x[row, head] for x in ATTENTION)
                to_q, to_k, to_v = (torch.zeros_like(x) for x in (q, k, v))
                for t in range(LENGTH):
                    seen = ALLOWED[t].nonzero()[:, 0]
                    scores = torch.zeros(len(seen)).double()
                    for d in range(D_HEAD):
                        relevance = FROM_HEADS[row, head, t, n, d]
                        to_weights, to_values = ratio_of_sum_of_products(
                            relevance, weights[t, seen], v[seen, d]
                        )
                        scores += to_weights
                        to_v[seen, d] += to_values
                    for s, score in zip(seen, scores, strict=True):
                        to_query, to_key = ratio_of_sum_of_products(score, q[t], k[s])
                        to_q[t] += to_query
                        to_k[s] += to_key
                for part, other in zip(found, (to_q, to_k, to_v), strict=True):
                    torch.testing.assert_close(part[row, head, :, n], other, **EXACT)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_sums_that_vanish_hand_down_nothing(rule):
    """Padding attends to nothing real, and a dead unit adds nothing: no NaN may come of it."""
    nothing = torch.zeros(BATCH, LENGTH, D).double()
    assert not rule.linear(FROM_OUT, nothing, WEIGHT, torch.zeros(OUT)).any()
    assert not torch.stack(rule.add(FROM_D, nothing, nothing)).any()
    heads = (torch.zeros_like(QUERIES), torch.zeros_like(K), torch.zeros_like(V), ATTENTION[-1])
    assert all(not part.any() for part in rule.attention(FROM_HEADS, *heads))
