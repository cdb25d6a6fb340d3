"""Confidence of attention heads (Voita et al. ACL 2019, section 4)."""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bottomup.corpus.specials import EOS, PAD
from bottomup.errors import UserError
from bottomup.heads.trace import trace
from bottomup.model.transformer import Transformer
from bottomup.objectives import Example


def head_confidence(model: Transformer, examples: Iterable[Example]) -> dict[str, np.ndarray]:
    """Mean over tokens of a head's largest attention weight, </s> excluded, 0 to 1.

    A position stands for the token that an encoder reads there, or that a decoder is to predict.
    As no real token (the paper's reason), </s> is neither counted as a position nor as what is
    attended to: a head that rests on </s> is not confident. The zero vector that a decoder starts
    from is no token either, so that its first position, which sees nothing else, is left out for
    self-attention.

    examples: the text to read, with the model's own translations as targets; labels are ignored.
    Returns `[layers, heads]` by kind of attention: "encoder", "decoder" (self), "cross".
    UserError where there is no token.
    """
    device = model.head.weight.device
    sums: dict[str, Tensor] = {}
    counts: dict[str, int] = {}
    for example in examples:
        source = torch.from_numpy(example.source).to(device)
        target = None if example.target is None else torch.from_numpy(example.target).to(device)
        steps = list(trace(model, source, target).attentions())
        for kind, (queries, keys) in token_masks(source, target).items():
            largest = [
                step.weights.masked_fill(~keys[:, None, None, :], 0).amax(dim=-1)
                for step in steps
                if step.kind == kind
            ]  # layers of [batch, heads, queries]
            found = torch.stack(largest).double() * queries[:, None, :]
            sums[kind] = sums.get(kind, 0) + found.sum(dim=(1, 3))
            counts[kind] = counts.get(kind, 0) + int(queries.sum())
    if not sums or not all(counts.values()):
        raise UserError("no token to attend from; confidence needs sentences of two tokens or more")
    return {kind: (total / counts[kind]).cpu().numpy() for kind, total in sums.items()}


def token_masks(source: Tensor, target: Tensor | None) -> dict[str, tuple[Tensor, Tensor]]:
    """By kind of attention, which positions are tokens: as queries and as keys, bool.

    source, target: padded ids `[batch, length]`; a mask has the shape of its side.
    """
    read = (source != PAD) & (source != EOS)
    if target is None:
        return {"encoder": (read, read)}
    predicted = (target != PAD) & (target != EOS)
    previous = functional.pad(predicted[:, :-1], (1, 0))
    return {
        "encoder": (read, read),
        "decoder": (predicted & previous, previous),
        "cross": (predicted, read),
    }
