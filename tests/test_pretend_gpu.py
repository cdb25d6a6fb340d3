"""The pretend GPU refuses what a GPU refuses, and takes what one takes."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.pretend_gpu import pretend_gpu

HOST = torch.Generator()
TWO_DEVICES = "Expected all tensors to be on the same device"
NO_ARRAY = "can't convert cuda:0 device type tensor to numpy"
OTHER_GENERATOR = "Expected a 'cuda' device type for generator but found 'cpu'"


@pytest.fixture
def gpu():
    with pretend_gpu() as gpu:
        yield gpu


@pytest.fixture
def x(gpu):
    return torch.arange(6.0).view(2, 3).to("cuda")


# By name; what is done to a tensor there. None of it is an error on the CPU.
REFUSED = {
    "sum": (lambda x: x + torch.ones(2, 3), TWO_DEVICES),
    "product": (lambda x: torch.ones(4, 2) @ x, TWO_DEVICES),
    "in place": (lambda x: torch.ones(2, 3).mul_(x), TWO_DEVICES),
    "number written": (lambda x: torch.tensor(0.0).add_(x.sum()), TWO_DEVICES),
    "number there": (lambda x: torch.ones(3) * x.sum(), TWO_DEVICES),
    "list": (lambda x: torch.cat([x, torch.ones(2, 3)]), TWO_DEVICES),
    "mask": (lambda x: x.masked_fill(torch.ones(2, 3) > 0, 1), TWO_DEVICES),
    "condition": (lambda x: torch.where(torch.ones(2, 3) > 0, x, 0), TWO_DEVICES),
    "layer": (lambda x: nn.Linear(3, 3)(x), TWO_DEVICES),
    "index_select": (lambda x: x.index_select(0, torch.tensor([1])), TWO_DEVICES),
    "gather": (lambda x: x.gather(1, torch.zeros(2, 1, dtype=torch.long)), TWO_DEVICES),
    "embedding": (lambda x: functional.embedding(torch.tensor([0]), x), TWO_DEVICES),
    "index there": (lambda x: torch.ones(3)[x[0, :1].long()], TWO_DEVICES),
    "values": (lambda x: x.__setitem__([0], torch.ones(1, 3)), TWO_DEVICES),
    "numpy": (lambda x: x.numpy(), NO_ARRAY),
    "view": (lambda x: x[0].numpy(), NO_ARRAY),
    "asarray": (lambda x: np.asarray(x), NO_ARRAY),
    "function of numpy": (lambda x: np.square(x.sum()), NO_ARRAY),
    "draw": (lambda x: torch.rand(3, device=x.device, generator=HOST), OTHER_GENERATOR),
    "draw in place": (lambda x: x.normal_(generator=HOST), OTHER_GENERATOR),
    "pinned": (lambda x: x.pin_memory(), "cannot pin"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, x):
    operation, message = REFUSED[name]
    with pytest.raises((RuntimeError, TypeError), match=message):
        operation(x)


TAKEN = {
    "number": lambda x: x * torch.tensor(2.0),
    "index": lambda x: x[torch.tensor([1])],
    "mask": lambda x: x[torch.tensor([True, False])],
    "copy": lambda x: x.copy_(torch.ones(2, 3)),
    "new": lambda x: x.new_zeros(3) + x,
    "new tensor": lambda x: torch.stack([x.sum(), x.new_tensor(3)]),
    "like": lambda x: torch.ones_like(x) @ x.T,
    "factory": lambda x: torch.arange(3, device=x.device) + x,
    "tensor": lambda x: torch.tensor([1.0], device=x.device) + x,
    "dtype": lambda x: x.double().float() + x,
    "to other": lambda x: torch.ones(2, 3, dtype=torch.int64).to(x) + x,
    "layer": lambda x: nn.Linear(3, 3).to(x.device)(x),
    "deepcopy": lambda x: copy.deepcopy(nn.BatchNorm1d(3).to(x.device))(x),
    "attention": lambda x: functional.scaled_dot_product_attention(
        *[x[None, None]] * 3, attn_mask=x.new_ones(2, 2) > 0
    ),
    "context": lambda x: torch.zeros(3, device="cuda") + x,
}


@pytest.mark.parametrize("name", TAKEN)
def test_taken(name, x):
    found = TAKEN[name](x)
    assert found.device == torch.device("cuda", 0) and found.is_cuda and not found.is_cpu
    assert torch.isfinite(found.cpu()).all() and found.cpu().device.type == "cpu"


def test_back_on_the_cpu_it_is_a_copy_of_its_own(x):
    there = x.cpu().numpy()
    there += 1
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert torch.zeros_like(x, device="cpu").numpy().sum() == 0


def test_a_training_there_is_that_on_the_cpu(gpu):
    """Gradients, optimizers' states and indices in a backward are where the parameters are."""
    trained = []
    for device in ("cpu", "cuda"):
        table, layer = nn.Embedding(5, 4), nn.Linear(4, 5)
        for i, weight in enumerate([table.weight, layer.weight, layer.bias]):
            nn.init.constant_(weight, 0.1 * (i + 1)).view(-1)[0].data.add_(1)
        model = nn.Sequential(table, layer).to(device)
        for fused in (True, False):
            optimizer = torch.optim.Adam(model.parameters(), fused=fused)
            for ids in (torch.tensor([0, 3, 1]), torch.tensor([2, 4, 4])):
                ids = ids.to(device)
                loss = functional.cross_entropy(model(ids)[[0, 2]], ids[[0, 2]])
                loss.backward()
                assert table.weight.grad.device.type == device
                optimizer.step()
                optimizer.zero_grad()
        trained.append([p.detach().cpu().numpy() for p in model.parameters()])
    for there, here in zip(*trained, strict=True):
        np.testing.assert_array_equal(there, here)


def test_mps_has_no_float64():
    with pretend_gpu("mps"):
        x = torch.ones(2).to("mps")
        assert x.is_mps and (x + 1).device.type == "mps"
        with pytest.raises(TypeError, match="float64"):
            x.double()
        with pytest.raises(TypeError, match="float64"):
            torch.zeros(2, dtype=torch.float64, device="mps")


def test_nothing_is_left_of_it():
    before = torch.Tensor.device, torch.tensor, torch.autocast, torch.zeros
    with pretend_gpu():
        x = torch.ones(2, device="cuda")
    assert (torch.Tensor.device, torch.tensor, torch.autocast, torch.zeros) == before
    assert x.device.type == "cpu" and x.numpy().tolist() == [1, 1]
    assert not torch.cuda.is_available()
