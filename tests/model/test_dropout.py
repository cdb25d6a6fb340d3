import pytest
import torch

from bottomup.model.dropout import Dropout
from tests.tiny import plausible

N = 200_000


def dropped(p: float, seed: int = 0, n: int = N) -> torch.Tensor:
    torch.manual_seed(seed)
    return Dropout(p)(torch.ones(n))


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.999])
def test_rate_and_scale_are_those_of_p_rounded_to_a_byte(p):
    rounded = min(round(256 * p), 255) / 256
    out = dropped(p)
    assert plausible(int((out == 0).sum()), N, rounded)
    torch.testing.assert_close(out[out != 0].unique(), torch.tensor([1 / (1 - rounded)]))


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_mean_is_preserved(p):
    rounded = round(256 * p) / 256
    # The mean of N values, each 0 or 1 / (1 - p), has variance p / (1 - p) / N.
    assert abs(dropped(p).mean().item() - 1) < 5 * (rounded / (1 - rounded) / N) ** 0.5


@pytest.mark.parametrize("distance", range(1, 10))
def test_elements_are_independent(distance):
    """Those of one 64-bit draw, and those of the next."""
    kept = dropped(0.5) != 0
    assert plausible(int((kept[distance:] == kept[:-distance]).sum()), N - distance, 0.5)


def test_evaluation_and_p_0_are_the_identity():
    x = torch.randn(3, 5)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0).train()(x) is x


def test_seed_decides():
    assert torch.equal(dropped(0.1, seed=1), dropped(0.1, seed=1))
    assert not torch.equal(dropped(0.1, seed=1), dropped(0.1, seed=2))


@pytest.mark.parametrize("shape", [(1,), (7,), (8,), (9,), (2, 3, 5), (0, 4)])
def test_any_shape(shape):
    assert Dropout(0.5)(torch.ones(shape)).shape == shape


def test_number_format_is_kept():
    assert Dropout(0.1)(torch.ones(9, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_gradient_is_the_same_mask():
    x = torch.ones(100, requires_grad=True)
    out = Dropout(0.3)(x)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())
