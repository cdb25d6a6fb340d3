"""Attention in short sentences beside PyTorch's, which tests of `attention` hold to the formula."""

from itertools import product

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from bottomup.model.short_attention import ShortAttention

BATCH, HEADS, WIDTH = 3, 4, 8
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def projected(length, dtype=torch.float32):
    """As the model has it: heads side by side in memory."""
    x = torch.randn(BATCH, length, HEADS, WIDTH, generator=torch.Generator().manual_seed(length))
    return x.to(dtype).transpose(1, 2).requires_grad_()


def with_gradients(attend, inputs):
    output = attend(*inputs)
    upstream = torch.linspace(-1, 1, output.numel()).reshape(output.shape).to(output.dtype)
    return output, *torch.autograd.grad(output, inputs, upstream)


def padding(n_keys):
    """The sentences have all, one and half of the tokens."""
    lengths = torch.tensor([n_keys, 1, (n_keys + 1) // 2])
    return (torch.arange(n_keys) < lengths[:, None])[:, None, None, :]


def hidden(n, n_keys):
    """Each query sees its own choice of keys; the first one of the first sentence sees none."""
    seen = torch.rand(BATCH, 1, n, n_keys, generator=torch.Generator().manual_seed(n)) < 0.6
    seen[..., 0] = True
    seen[0, :, 0] = False
    return seen


# Of one token; shorter than a vector of the CPU, as long, longer; then other numbers of keys.
ITSELF, ANOTHER = [(1, 1), (5, 5), (16, 16), (31, 31)], [(4, 23), (23, 4), (1, 15)]
CASES = [
    *product(["everywhere", "padding", "hidden"], ITSELF + ANOTHER),
    *product(["causal"], ITSELF),
]


@pytest.mark.parametrize(("kind", "lengths"), CASES)
def test_output_and_gradients_are_pytorchs(kind, lengths):
    n, n_keys = lengths
    mask = {"padding": padding(n_keys), "hidden": hidden(n, n_keys)}.get(kind)
    causal = kind == "causal"
    inputs = projected(n), projected(n_keys), projected(n_keys)
    found = with_gradients(lambda q, k, v: ShortAttention.apply(q, k, v, mask, causal), inputs)
    expected = with_gradients(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal),
        inputs,
    )
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, **CLOSE)


def test_coarse_input_is_computed_in_float32():
    inputs = [projected(9, torch.bfloat16) for _ in range(3)]
    found = with_gradients(lambda q, k, v: ShortAttention.apply(q, k, v, None, True), inputs)
    fine = [x.detach().float().requires_grad_() for x in inputs]
    expected = with_gradients(lambda q, k, v: ShortAttention.apply(q, k, v, None, True), fine)
    assert all(x.dtype == torch.bfloat16 for x in found)
    # The upstream gradient is rounded, too; the output is rounded once.
    assert torch.equal(found[0], expected[0].bfloat16())
    for ours, theirs in zip(found[1:], expected[1:], strict=True):
        torch.testing.assert_close(ours.float(), theirs, rtol=2e-2, atol=2e-2)
