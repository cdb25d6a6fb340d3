"""Confidence of attention heads (Voita et al. ACL 2019, section 4)."""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn import functional

from bottomup.corpus.specials import EOS, PAD
from bottomup.errors import UserError
from bottomup.heads.totals import Totals
from bottomup.heads.trace import trace
from bottomup.model.transformer import Transformer
from bottomup.objectives import Example


def head_confidence(model: Transformer, examples: Iterable[Example]) -> Totals:
    """Mean over tokens of a head's largest attention weight, </s> excluded, 0 to 1.

    A position stands for the token that an encoder reads there, or that a decoder is to predict.
    As no real token (the paper's reason), </s> is neither counted as a position nor as what is
    attended to: a head that rests on </s> is not confident. The zero vector that a decoder starts
    from is no token either. Positions that see nothing but themselves are left out, since there is
    nothing to be sure of: the first of a decoder's self-attention, and of a causal encoder's.

    examples: the text to read, with the model's own translations as targets; labels are ignored.
    Kinds of attention: "encoder", "decoder" (self), "cross". A kind without tokens, as where all
    translations are empty, has NaN; UserError where there is no token at all.
    """
    device = model.head.weight.device
    totals = Totals()
    for example in examples:
        source = torch.from_numpy(example.source).to(device)
        target = None if example.target is None else torch.from_numpy(example.target).to(device)
        steps = list(trace(model, source, target).attentions())
        masks = token_masks(source, target, model.config.causal)
        for kind, (queries, keys) in masks.items():
            largest = [
                step.weights.masked_fill(~keys[:, None, None, :], 0).amax(dim=-1)
                for step in steps
                if step.kind == kind
            ]  # layers of [batch, heads, queries]
            found = torch.stack(largest, dim=1).double() * queries[:, None, None, :]
            totals.add(kind, found.sum(dim=-1), queries.sum(dim=-1))
    if totals.empty():
        raise UserError("no token to attend from; confidence needs sentences that are not empty")
    return totals


def token_masks(
    source: Tensor, target: Tensor | None, causal: bool
) -> dict[str, tuple[Tensor, Tensor]]:
    """By kind of attention, which positions have a choice of tokens, and which are tokens, bool.

    source, target: padded ids `[batch, length]`; a mask has the shape of its side; causal: whether
    the encoder is.
    """
    read = (source != PAD) & (source != EOS)
    asked = read & _shifted(read) if causal else read
    if target is None:
        return {"encoder": (asked, read)}
    predicted = (target != PAD) & (target != EOS)
    # A decoder reads at a position the token before the one that it is to predict there.
    previous = _shifted(predicted)
    return {
        "encoder": (asked, read),
        "decoder": (predicted & previous, previous),
        "cross": (predicted, read),
    }


def _shifted(mask: Tensor) -> Tensor:
    return functional.pad(mask[:, :-1], (1, 0))
