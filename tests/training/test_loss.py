import math

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from bottomup.objectives import IGNORE, Example
from bottomup.training import loss
from bottomup.training.loss import LinearCrossEntropy, smoothing_entropy, summed_loss
from tests.tiny import drawn

N, D, V = 10, 4, 7
CHUNKS = [1, 3 * V, 5 * V, N * V, 2**20]  # 1, 1, 3, 5 and all positions at once


@pytest.fixture
def inputs():
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(N, D, generator=generator, dtype=torch.float64)
    weight = torch.randn(V, D, generator=generator, dtype=torch.float64)
    labels = torch.randint(V, (N,), generator=generator)
    return states.requires_grad_(), weight.requires_grad_(), labels


def smoothed(labels: torch.Tensor, smoothing: float) -> torch.Tensor:
    """The distributions `[n, V]` that the tokens should get."""
    target = torch.full((len(labels), V), smoothing / (V - 1), dtype=torch.float64)
    return target.scatter(1, labels[:, None], 1 - smoothing)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("chunk", CHUNKS)
def test_value_and_gradients_are_pytorchs(monkeypatch, inputs, chunk, smoothing):
    monkeypatch.setattr(loss, "CHUNK", chunk)
    states, weight, labels = inputs
    target = smoothed(labels, smoothing)
    expected = functional.cross_entropy(states @ weight.T, target, reduction="sum")
    ours = LinearCrossEntropy.apply(states, weight, labels, smoothing, True)
    torch.testing.assert_close(ours, expected)
    # An upstream factor other than 1, as any use of the loss may have.
    for a, b in zip(
        torch.autograd.grad(3 * ours, (states, weight)),
        torch.autograd.grad(3 * expected, (states, weight)),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradients_are_those_of_finite_differences(monkeypatch, inputs, smoothing):
    monkeypatch.setattr(loss, "CHUNK", 3 * V)
    states, weight, labels = inputs
    assert torch.autograd.gradcheck(
        lambda s, w: LinearCrossEntropy.apply(s, w, labels, smoothing, True), (states, weight)
    )


def test_large_logits_do_not_overflow(inputs):
    states, weight, labels = inputs
    states, weight = 1e4 * states.detach().float(), weight.detach().float()
    ours = LinearCrossEntropy.apply(states, weight, labels, 0.0, False)
    expected = functional.cross_entropy(states @ weight.T, labels, reduction="sum")
    torch.testing.assert_close(ours, expected)


def test_nothing_predicted_is_zero(inputs):
    _, weight, labels = inputs
    states = torch.zeros(0, D, dtype=torch.float64, requires_grad=True)
    ours = LinearCrossEntropy.apply(states, weight, labels[:0], 0.1, True)
    ours.backward()
    assert ours == 0 and not weight.grad.any()


class Products(TorchDispatchMode):
    """Counts matrix products."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function.name().startswith("aten::mm")
        return function(*args, **kwargs or {})


def test_gradients_are_formed_in_training_alone():
    """Three products a position in training, one in evaluation."""
    counts = []
    model = drawn("lm", layers=1)
    example = Example(np.array([[5, 6, 1]]), None, np.array([[6, 1, IGNORE]]))
    for grad in (True, False):
        with torch.set_grad_enabled(grad), Products() as products:
            summed_loss(model, example, 0.0)
        counts.append(products.count)
    assert counts[0] - counts[1] == 2


def test_smoothing_is_zero_at_the_optimum():
    """Where the model gives 0.9 to the token and a sixth of 0.1 to each of the six others."""
    labels = torch.arange(V)
    logits = smoothed(labels, 0.1).log()
    total = LinearCrossEntropy.apply(logits, torch.eye(V, dtype=torch.float64), labels, 0.1, False)
    assert total.item() == pytest.approx(V * smoothing_entropy(0.1, V))
    assert total.item() > 0


def test_smoothing_entropy_by_hand():
    assert smoothing_entropy(0.0, V) == 0.0
    # Half for the token, half for the only other: one bit.
    assert smoothing_entropy(0.5, 2) == pytest.approx(math.log(2))
    # Smoothed to uniform.
    assert smoothing_entropy(0.75, 4) == pytest.approx(math.log(4))


@pytest.mark.parametrize("objective", ["lm", "mt"])
def test_summed_loss_is_over_the_predicted_alone(objective):
    model = drawn(objective)
    source = np.array([[5, 6, 7, 1], [8, 1, 0, 0]])
    labels = np.array([[6, IGNORE, 1, IGNORE], [IGNORE, 9, IGNORE, IGNORE]])
    target = source if objective == "mt" else None
    total, count = summed_loss(model, Example(source, target, labels), 0.0)
    states = model(torch.from_numpy(source), None if target is None else torch.from_numpy(target))
    expected = functional.cross_entropy(
        model.head(states).flatten(0, 1), torch.from_numpy(labels).flatten(), reduction="sum"
    )
    assert count == 3
    torch.testing.assert_close(total, expected)
    smooth, _ = summed_loss(model, Example(source, target, labels), 0.1)
    assert smooth.item() > 0


def test_bfloat16_products_give_float32_losses_and_gradients(inputs):
    states, weight, labels = (x.detach() for x in inputs)
    states = states.float().requires_grad_()
    weight = weight.float().requires_grad_()
    exact = LinearCrossEntropy.apply(states, weight, labels, 0.1, True)
    exact_gradients = torch.autograd.grad(exact, (states, weight))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = LinearCrossEntropy.apply(states, weight, labels, 0.1, True)
    assert low.dtype == torch.float32
    # bfloat16 keeps 8 bits of a number: a relative error of 2^-9 in each factor.
    torch.testing.assert_close(low, exact, rtol=0.02, atol=0.0)
    for a, b in zip(torch.autograd.grad(low, (states, weight)), exact_gradients, strict=True):
        assert a.dtype == torch.float32
        torch.testing.assert_close(a, b, rtol=0.05, atol=0.05)
