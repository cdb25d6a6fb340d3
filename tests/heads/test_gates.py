import math

import numpy as np
import pytest
import torch

from bottomup.heads.gates import HardConcrete, penalty
from tests.tiny import plausible

DRAWS = 100_000
LOG_ALPHAS = [-3.0, -1.0, 0.0, 0.5, 2.0]


def gate(*log_alpha: float) -> HardConcrete:
    gates = HardConcrete(len(log_alpha))
    with torch.no_grad():
        gates.log_alpha.copy_(torch.tensor(log_alpha))
    return gates


def draws(log_alpha: float) -> torch.Tensor:
    """Samples of one gate."""
    many = HardConcrete(DRAWS, log_alpha)
    return many.sample(torch.rand(DRAWS, generator=torch.Generator().manual_seed(1))).detach()


def test_samples_by_hand():
    """u 0.5: s = 1/2, g = 0.5. u 0.3: ln(3/7) / 0.33 = -2.5676, s = .0713, 1.2 s - 0.1 < 0.
    u 0.4: ln(2/3) / 0.33 = -1.2287, s = .226412, g = .171695. u 0.7 mirrors 0.3: 1."""
    found = gate(0, 0, 0, 0).sample(torch.tensor([0.5, 0.3, 0.4, 0.7]))
    np.testing.assert_allclose(found.detach(), [0.5, 0, 0.171695, 1], atol=1e-5)


def test_log_alpha_shifts_the_noise():
    noise = torch.tensor([0.4, 0.4])
    shifted = 1 / (1 + 1.5 * math.exp(-0.2))  # the noise whose logit is larger by 0.2
    found = gate(0.2).sample(noise[:1])
    torch.testing.assert_close(found, gate(0.0).sample(torch.tensor([shifted])))


@pytest.mark.parametrize("edge", [0.0, 1.0])
def test_noise_at_the_edge_is_finite(edge):
    gates = gate(0.3)
    gates.sample(torch.tensor([edge])).sum().backward()
    assert gates.log_alpha.grad.isfinite().all()


@pytest.mark.parametrize("log_alpha", LOG_ALPHAS)
def test_the_open_probability_is_how_often_a_gate_is_not_zero(log_alpha):
    p = gate(log_alpha).open_probability().item()
    assert plausible(int((draws(log_alpha) > 0).sum()), DRAWS, p)


def test_the_open_probability_by_hand():
    """1 / (1 + (1 / 11)^0.33) = 1 / (1 + e^-0.79130) = 0.68812."""
    assert gate(0.0).open_probability().item() == pytest.approx(0.68812, abs=1e-5)


@pytest.mark.parametrize("log_alpha", LOG_ALPHAS)
def test_what_is_kept_is_more_often_one_than_zero(log_alpha):
    sample = draws(log_alpha)
    ones, zeros = int((sample == 1).sum()), int((sample == 0).sum())
    if log_alpha:
        assert gate(log_alpha).kept().item() == float(ones > zeros)
    else:
        assert plausible(ones, ones + zeros, 0.5)


def test_without_noise_the_temperature_is_left_out():
    """Closed from -ln 11 down, open from ln 11 up, and 1.2 sigmoid(1) - 0.1 = .77727 at 1."""
    ends = math.log(11)
    found = gate(-ends - 1e-3, 1.0, ends + 1e-3, -ends + 1e-2).deterministic().detach()
    np.testing.assert_allclose(found[:3], [0, 0.77727, 1], atol=1e-5)
    assert 0 < found[3] < 0.01


def test_only_gates_between_the_ends_learn_from_the_loss():
    gates = gate(0, 0, 0)
    gates.sample(torch.tensor([0.01, 0.5, 0.99])).sum().backward()
    assert (gates.log_alpha.grad != 0).tolist() == [False, True, False]


def test_the_penalty_is_the_mean_over_layers_of_the_expected_number_of_open_heads():
    layers = [gate(0.0, 2.0), gate(-1.0, 1.0)]
    p = [torch.sigmoid(torch.tensor(a) + 0.33 * math.log(11)).item() for a in (0.0, 2.0, -1.0, 1.0)]
    assert penalty(layers).item() == pytest.approx(sum(p) / 2, rel=1e-6)
