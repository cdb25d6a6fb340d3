import copy

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, GPTNeoXConfig, GPTNeoXForCausalLM

from bottomup.training.muon import Muon
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


@pytest.mark.parametrize(
    ("trunk", "weights"),
    [("lstm", {"weight_ih_l0", "weight_hh_l0"}), ("convolution", {"weight"})],
)
def test_muon_has_the_weights_of_the_layers_of_every_trunk(trunk, weights):
    model = initial("lm", trunk=trunk)
    adam, muon = optimizers(model, "muon")
    assert {name.split(".")[-1] for name in named(model, muon)} == weights
    layers = {n for n, p in model.encoder.named_parameters() if p.ndim > 1 and "embedding" not in n}
    assert {f"encoder.{name}" for name in layers} == named(model, muon)
    assert named(model, adam) | named(model, muon) == {n for n, _ in model.named_parameters()}


@pytest.mark.parametrize("tied", [True, False])
def test_muon_has_no_matrix_of_tokens_of_another_family(tied):
    shape = {"hidden_size": 8, "intermediate_size": 16, "num_attention_heads": 2}
    shape |= {"num_hidden_layers": 1, "vocab_size": 20, "tie_word_embeddings": tied}
    for family, kind in ((BertConfig, BertForMaskedLM), (GPTNeoXConfig, GPTNeoXForCausalLM)):
        model = kind(family(**shape))
        names = named(model, optimizers(model, "muon")[1])
        assert names and not [name for name in names if "embed" in name or "decoder" in name]


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


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="PyTorch has it since 2.9")
def test_muon_agrees_with_pytorchs():
    """Both multiply in bfloat16, whose roundings differ by the order of sums: by less than 5 %."""
    torch.manual_seed(1)
    shapes = [(16, 16), (32, 16), (16, 16), (8, 32)]
    ours = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
    theirs = copy.deepcopy(ours)
    options = {"lr": 0.02, "weight_decay": 0.1, "adjust_lr_fn": "match_rms_adamw"}
    optimizers = [Muon(ours), torch.optim.Muon(theirs, **options)]
    optimizers[0].param_groups[0]["lr"] = 0.02
    for _ in range(5):
        before = [matrix.detach().clone() for matrix in ours]
        for one, other in zip(ours, theirs, strict=True):
            other.data.copy_(one.data)
            one.grad = torch.randn(one.shape)
            other.grad = one.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
        for start, one, other in zip(before, ours, theirs, strict=True):
            difference, step = (one - other).norm(), (other - start).norm()
            assert difference < 0.05 * step


def test_muon_steps_a_convolution_as_the_linear_map_of_its_window():
    """One of 3 tokens of width 8 is a linear map of 24 numbers."""
    torch.manual_seed(1)
    convolution = torch.nn.Conv1d(8, 16, 3)
    linear = torch.nn.Linear(24, 16)
    linear.weight.data.copy_(convolution.weight.detach().reshape(16, 24))
    gradient = torch.randn(16, 8, 3)
    for layer in (convolution, linear):
        layer.weight.grad = gradient.reshape(layer.weight.shape).clone()
        _, muon = optimizers(layer, "muon")
        muon.param_groups[0]["lr"] = 0.01
        muon.step()
    assert torch.equal(convolution.weight.reshape(16, 24), linear.weight)


@pytest.mark.parametrize("shape", [(0, 16), (16, 0)], ids=str)
def test_muon_leaves_alone_what_has_no_weights(shape):
    """As the projections of a layer without heads."""
    whole, empty = torch.nn.Parameter(torch.zeros(16, 16)), torch.nn.Parameter(torch.zeros(shape))
    muon = Muon([whole, empty])
    muon.param_groups[0]["lr"] = 0.02
    whole.grad, empty.grad = torch.ones(16, 16), torch.zeros(shape)
    muon.step()
    assert whole.detach().abs().sum() > 0
    assert empty.shape == shape


def test_muon_leaves_alone_what_is_frozen():
    """As the decoder of a model whose encoder alone loses heads."""
    learning, frozen = (torch.nn.Parameter(torch.eye(16)) for _ in range(2))
    muon = Muon([frozen, learning])
    muon.param_groups[0]["lr"] = 0.02
    for _ in range(2):
        learning.grad = torch.ones(16, 16)
        muon.step()
    assert torch.equal(frozen, torch.eye(16))
    assert not torch.equal(learning, torch.eye(16))
