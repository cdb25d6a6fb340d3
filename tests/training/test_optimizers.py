import torch

from bottomup.training.optimizers import optimizers
from tests.tiny import initial


def named(model, optimizer) -> set[str]:
    """The names of an optimizer's parameters."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return {names[id(p)] for group in optimizer.param_groups for p in group["params"]}


def test_muon_has_the_matrices_of_the_layers_and_adam_the_rest():
    model = initial("mt")
    adam, muon = optimizers(model, "muon")
    kinds = {name.split(".", 3)[-1] for name in named(model, muon)}
    attention = {f"{part}.weight" for part in ("query", "key_value", "out")}
    expected = {f"{kind}.{part}" for kind in ("attention", "cross") for part in attention}
    assert kinds == expected | {"feed_forward.inner.weight", "feed_forward.outer.weight"}
    assert named(model, adam).isdisjoint(named(model, muon))
    assert named(model, adam) | named(model, muon) == {n for n, _ in model.named_parameters()}
    assert {"encoder.embedding.tokens.weight", "head.weight"} <= named(model, adam)


def test_muons_step_is_orthogonal_and_as_large_as_adams():
    """A first step moves each weight by 0.2 of the rate in the mean square; Adam's by all of it.

    Newton and Schulz's five rounds leave singular values between about 0.7 and 1.2.
    """
    torch.manual_seed(1)
    layer = torch.nn.Linear(32, 64)
    torch.nn.init.zeros_(layer.weight)  # of which there is nothing to take off
    _, muon = optimizers(layer, "muon")
    muon.param_groups[0]["lr"] = 0.01
    layer.weight.grad = torch.randn(64, 32) * 1e-3
    muon.step()
    step = -layer.weight.detach()
    singular = torch.linalg.svdvals(step)
    assert singular.max() < 2 * singular.min()
    # 32 singular values of s, spread over 64 x 32 weights: s^2 / 64; s = 0.2 x 0.01 x 64^0.5.
    torch.testing.assert_close(step.square().mean().sqrt(), torch.tensor(0.002), rtol=0.2, atol=0)
