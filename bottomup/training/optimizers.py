"""The optimizers: Adam as in the papers, or Muon for the parameters it is defined for."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from bottomup.training.muon import Muon


def optimizers(model: nn.Module, name: str) -> list[Optimizer]:
    """The optimizers of a model's parameters; the first group of each takes the learning rate.

    "adam": for all parameters, with the constants of the authors' code. "muon": steps matrices
    inside the layers along their orthogonalized momentum and all other parameters by Adam, at one
    rate. Embeddings and the output layer are not inside. The weights of a convolution are a matrix;
    others of three dimensions are not, such as a checkpoint's experts, many matrices in one.
    """
    outside = {id(parameter) for parameter in _of_tokens(model)}
    convolutions = {id(parameter) for parameter in _of_convolutions(model)}
    matrices = [
        parameter
        for parameter in model.parameters()
        if name == "muon"
        and id(parameter) not in outside
        and (parameter.ndim == 2 or id(parameter) in convolutions)
    ]
    inside = {id(parameter) for parameter in matrices}
    rest = [parameter for parameter in model.parameters() if id(parameter) not in inside]
    adam = torch.optim.Adam(rest, betas=(0.9, 0.998), eps=1e-9, fused=True)
    if not matrices:
        return [adam]
    return [adam, Muon(matrices)]


def _of_tokens(model: nn.Module) -> Iterator[nn.Parameter]:
    """The matrices whose rows are tokens, positions or the like."""
    for path, module in model.named_modules():
        if isinstance(module, nn.Embedding) or path.endswith("head"):
            yield from module.parameters()
        elif output := getattr(module, "get_output_embeddings", lambda: None)():
            yield from output.parameters()


def _of_convolutions(model: nn.Module) -> Iterator[Tensor]:
    """The weights of convolutions that mix all channels."""
    for module in model.modules():
        if isinstance(module, nn.Conv1d) and module.groups == 1:
            yield module.weight
