"""The optimizers: Adam as in the papers, or Muon for the parameters it is defined for."""

import torch
from torch import nn
from torch.optim import Optimizer

from bottomup.training.muon import Muon

ENDS = ("tokens.weight", "head.weight")  # matrices whose rows are tokens


def optimizers(model: nn.Module, name: str) -> list[Optimizer]:
    """The optimizers of a model's parameters; the first group of each takes the learning rate.

    "adam": for all parameters, with the constants of the authors' code. "muon": steps matrices
    inside the layers along their orthogonalized momentum and all other parameters by Adam, at one
    rate.
    """
    matrices = [
        parameter
        for path, parameter in model.named_parameters()
        if name == "muon" and parameter.ndim == 2 and not path.endswith(ENDS)
    ]
    inside = {id(parameter) for parameter in matrices}
    rest = [parameter for parameter in model.parameters() if id(parameter) not in inside]
    adam = torch.optim.Adam(rest, betas=(0.9, 0.998), eps=1e-9, fused=True)
    if not matrices:
        return [adam]
    return [adam, Muon(matrices)]
