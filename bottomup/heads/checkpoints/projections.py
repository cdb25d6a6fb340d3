"""Which weights of a checkpoint read which head."""

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from bottomup.core.errors import UserError
from bottomup.heads.predictor import Place
from bottomup.objectives import Example

if TYPE_CHECKING:
    from bottomup.heads.checkpoints.predictor import CheckpointPredictor


@torch.no_grad()
def what_reads_heads(predictor: "CheckpointPredictor") -> dict[Place, tuple[Tensor, Tensor]]:
    """By head, the weight of the projection that reads its output, with a row for each input, and
    which of these rows read this head, bool.

    Families name and place these projections differently. So each is found by what reaches it when
    a head's gate is NaN.

    Raises UserError if this is not a projection that reads the heads of one layer, side by side;
    then heads cannot be taken out of it.
    """
    readers: list[tuple[nn.Linear | Conv1D, Tensor]] = []
    calls: Counter[nn.Module] = Counter()

    def note(module: nn.Linear | Conv1D, inputs: tuple[Tensor, ...]) -> None:
        calls[module] += 1
        rows = inputs[0].isnan().flatten(0, -2).any(0)
        if not readers and rows.any():
            readers.append((module, rows))

    hooks = [
        module.register_forward_pre_hook(note)
        for module in predictor.model.modules()
        if isinstance(module, nn.Linear | Conv1D)
    ]
    ids = np.array([predictor.subject.ordinary[:1]])
    target = ids if predictor.subject.translates else None
    example = Example(ids, target, ids, np.array([1]))
    reading = {}
    for kind, gates in predictor.gates.items():
        for layer, gate in enumerate(gates, 1):
            for head in range(len(gate)):
                readers.clear()
                calls.clear()
                gate[head] = torch.nan
                predictor.losses(example)
                gate[head] = 1.0
                module, rows = readers[0] if readers else (None, gate)
                if module is None or calls[module] != 1 or rows.sum() * len(gate) != len(rows):
                    raise UserError(
                        f"heads cannot be taken out of a {predictor.model.config.model_type}: no "
                        f"weights read the heads of layer {layer} ({kind}) alone; remove its "
                        "penalties from pruning.penalties"
                    )
                weight = module.weight if isinstance(module, Conv1D) else module.weight.mT
                reading[kind, layer, head + 1] = weight.detach(), rows
    for hook in hooks:
        hook.remove()
    return reading
