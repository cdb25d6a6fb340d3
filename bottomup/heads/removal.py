"""A model without the heads whose gates are closed."""

from dataclasses import replace

import torch
from torch import Tensor

from bottomup.model.attention import Attention
from bottomup.model.transformer import Transformer


@torch.no_grad()
def without_closed_heads(model: Transformer) -> Transformer:
    """The smaller model that computes the same: heads with gate 0 are left out of every matrix.

    Other gates become part of the output projection. Outputs differ only by rounding.
    """
    kept = {
        kind: [int(module.gates.count_nonzero()) for module in modules]
        for kind, modules in model.attentions().items()
    }
    small = Transformer(replace(model.config, kept_heads=kept))
    weights = model.state_dict()
    for name, module in model.named_modules():
        if isinstance(module, Attention):
            weights |= {f"{name}.{key}": tensor for key, tensor in kept_weights(module).items()}
    small.load_state_dict(weights)
    return small.to(model.head.weight.device).train(model.training)


def kept_weights(attention: Attention) -> dict[str, Tensor]:
    """The state of an attention without its closed heads."""
    kept = attention.gates != 0
    rows = kept.repeat_interleave(attention.d_head)
    return {
        "query.weight": attention.query.weight[rows],
        "query.bias": attention.query.bias[rows],
        "key_value.weight": attention.key_value.weight[rows.repeat(2)],
        "key_value.bias": attention.key_value.bias[rows.repeat(2)],
        "out.weight": attention.gated_output()[:, rows],
        "gates": torch.ones_like(attention.gates[kept]),
    }
