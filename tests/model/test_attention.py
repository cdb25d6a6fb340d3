import pytest
import torch

from bottomup.model import short_attention
from bottomup.model.attention import Attention, attended
from tests.model import by_hand
from tests.tiny import noise

D, HEADS, KEYS = 16, 4, 5
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


@pytest.fixture(autouse=True, params=["short", "long"])
def way(request, monkeypatch):
    """Sentences count as short ones, then as long ones."""
    if request.param == "long":
        monkeypatch.setattr(short_attention, "MOST_WEIGHTS", 0)


@pytest.fixture
def attention():
    return noise(Attention(D, HEADS, D // HEADS, dropout=0.0)).eval()


@pytest.fixture
def x():
    return torch.randn(3, KEYS, D, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def padding():
    """The sentences have 5, 2 and 4 tokens."""
    return torch.arange(KEYS) < torch.tensor([5, 2, 4])[:, None]


def test_no_mask_is_the_formula(attention, x):
    output, weights = attention(x, x, need_weights=True)
    everywhere = torch.ones(KEYS, KEYS).bool()
    for row in range(3):
        expected, expected_weights = by_hand.attend(attention, x[row], x[row], everywhere)
        torch.testing.assert_close(output[row], expected, **CLOSE)
        torch.testing.assert_close(weights[row], expected_weights, **CLOSE)


def test_causal_is_the_formula_under_a_triangle(attention, x):
    output, weights = attention(x, x, causal=True, need_weights=True)
    triangle = torch.ones(KEYS, KEYS).tril().bool()
    for row in range(3):
        expected, expected_weights = by_hand.attend(attention, x[row], x[row], triangle)
        torch.testing.assert_close(output[row], expected, **CLOSE)
        torch.testing.assert_close(weights[row], expected_weights, **CLOSE)
    assert not weights[:, :, 0, 1:].any()


def test_padding_is_the_formula_over_the_tokens(attention, x, padding):
    output, weights = attention(x, x, padding[:, None, None, :], need_weights=True)
    for row, n in enumerate([5, 2, 4]):
        everywhere = torch.ones(n, n).bool()
        expected, expected_weights = by_hand.attend(attention, x[row, :n], x[row, :n], everywhere)
        torch.testing.assert_close(output[row, :n], expected, **CLOSE)
        torch.testing.assert_close(weights[row, :, :n, :n], expected_weights, **CLOSE)
        assert not weights[row, :, :, n:].any()


def test_another_memory_is_the_formula(attention, x):
    memory = torch.randn(3, 7, D, generator=torch.Generator().manual_seed(2))
    output, weights = attention(x, memory, need_weights=True)
    everywhere = torch.ones(KEYS, 7).bool()
    for row in range(3):
        expected, expected_weights = by_hand.attend(attention, x[row], memory[row], everywhere)
        torch.testing.assert_close(output[row], expected, **CLOSE)
        torch.testing.assert_close(weights[row], expected_weights, **CLOSE)


def test_open_gates_are_pytorchs_attention(attention, x, padding):
    reference = torch.nn.MultiheadAttention(D, HEADS, batch_first=True).eval()
    with torch.no_grad():
        reference.in_proj_weight[:D] = attention.query.weight
        reference.in_proj_weight[D:] = attention.key_value.weight
        reference.in_proj_bias[:D] = attention.query.bias
        reference.in_proj_bias[D:] = attention.key_value.bias
        reference.out_proj.weight.copy_(attention.out.weight)
        reference.out_proj.bias.copy_(attention.out.bias)
    expected, expected_weights = reference(
        x, x, x, key_padding_mask=~padding, average_attn_weights=False
    )
    output, weights = attention(x, x, padding[:, None, None, :], need_weights=True)
    torch.testing.assert_close(output, expected, **CLOSE)
    torch.testing.assert_close(weights, expected_weights, **CLOSE)


def test_open_gates_change_no_bit(attention, x):
    keys, values = attention.keys_and_values(x)
    queries = attention.split_heads(attention.query(x))
    heads = attended(queries, keys, values, mask=None, causal=False, dropout=0.0)
    plain = attention.out(heads.transpose(1, 2).reshape(3, KEYS, D))
    assert torch.equal(attention(x, x)[0], plain)


@pytest.mark.parametrize("closed", range(HEADS))
def test_a_closed_gate_removes_that_head_alone(attention, x, closed):
    open_output, open_weights = attention(x, x, need_weights=True)
    attention.gates[closed] = 0.0
    output, weights = attention(x, x, need_weights=True)
    part = slice(closed * D // HEADS, (closed + 1) * D // HEADS)
    values = attention.key_value(x)[..., D:][..., part]
    removed = open_weights[:, closed] @ values @ attention.out.weight[:, part].T
    torch.testing.assert_close(output, open_output - removed, **CLOSE)
    assert torch.equal(weights, open_weights)


def test_closed_gates_leave_the_bias(attention, x):
    attention.gates.zero_()
    assert torch.equal(attention(x, x)[0], attention.out.bias.expand(3, KEYS, D))


def test_a_gate_scales_its_head(attention, x):
    outputs = []
    for gate in (0.0, 0.5, 1.0):
        attention.gates[2] = gate
        outputs.append(attention(x, x)[0])
    torch.testing.assert_close(outputs[1], (outputs[0] + outputs[2]) / 2, **CLOSE)


def test_gates_are_saved_and_not_trained(attention):
    assert "gates" in attention.state_dict()
    assert "gates" not in dict(attention.named_parameters())


@pytest.mark.parametrize("causal", [False, True])
def test_weights_sum_to_1_and_cost_no_bit(attention, x, padding, causal):
    mask = None if causal else padding[:, None, None, :]
    output, weights = attention(x, x, mask, causal, need_weights=True)
    assert weights.shape == (3, HEADS, KEYS, KEYS)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, HEADS, KEYS))
    assert torch.equal(output, attention(x, x, mask, causal)[0])


def test_dropout_reaches_the_output_and_not_the_weights_handed_out(x):
    attention = noise(Attention(D, HEADS, D // HEADS, dropout=0.5))
    output, weights = attention.train()(x, x, need_weights=True)
    calm_output, calm_weights = attention.eval()(x, x, need_weights=True)
    assert not torch.allclose(output, calm_output)
    assert torch.equal(weights, calm_weights)


def test_bfloat16_reaches_the_products_and_not_the_softmax(attention, x, padding):
    """Under autocast attention itself is computed in float32 on a CPU, and the weights are."""
    exact, exact_weights = attention(x, x, padding[:, None, None, :], need_weights=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low, weights = attention(x, x, padding[:, None, None, :], need_weights=True)
    assert low.dtype == torch.bfloat16
    assert weights.dtype == torch.float32
    torch.testing.assert_close(low.float(), exact, rtol=0.05, atol=0.05)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, HEADS, KEYS))
    torch.testing.assert_close(weights, exact_weights, rtol=0.1, atol=0.02)
