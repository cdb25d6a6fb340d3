"""What heads attend to: confidence (Voita et al. ACL 2019, section 4), and special tokens."""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bottomup.core.errors import UserError
from bottomup.corpus.specials import EOS, PAD
from bottomup.corpus.tokens import TokenFile
from bottomup.heads.totals import Totals
from bottomup.heads.trace import trace
from bottomup.measures.examples import tensors
from bottomup.model.configuration import TransformerConfig
from bottomup.model.transformer import Transformer
from bottomup.objectives import Example
from bottomup.subjects import Subject
from bottomup.subjects.batches import batches

QUANTITIES = ("confidence", "special")


def head_attention(model: Transformer, examples: Iterable[Example]) -> dict[str, Totals]:
    """How the heads of one of our models attend, for all kinds of attention; both are 0 to 1.

    confidence: the mean over tokens of a head's largest attention weight, </s> excluded. A position
    stands for the token that an encoder reads there, or that a decoder is to predict. </s> is not a
    real token (the paper's reason), so it counts neither as a position nor as a target of
    attention: a head that rests on </s> is not confident. Nor is the zero vector that a decoder
    starts from. Positions that see no other token have no choice and are left out: the first one
    of a decoder's self-attention and of a causal encoder's (the last of one that reads backward).

    special: the mean over the same positions of the weight on what is not a token (Clark et al.
    2019, section 3.2, on [SEP] and [CLS]).

    examples: the text to read, with the model's own translations as targets; labels are ignored.
    Kinds of attention: "encoder", "decoder" (self), "cross". A kind without tokens (if all
    translations are empty, for example) has NaN.

    Raises UserError if there is no token at all.
    """
    device = model.head.weight.device
    totals = {name: Totals() for name in QUANTITIES}
    for example in examples:
        source, target, _ = tensors(example, device)
        steps = list(trace(model, source, target).attentions())
        masks = token_masks(source, target, model.config)
        for kind, (queries, keys) in masks.items():
            _add(totals, kind, [step.weights for step in steps if step.kind == kind], queries, keys)
    return _not_empty(totals)


def encoder_attention(
    subject: Subject, text: TokenFile, batch_tokens: int
) -> tuple[dict[str, Totals], np.ndarray]:
    """As `head_attention`, for the encoder of any subject; and the order in which sentences were
    added.

    batch_tokens: padded tokens to encode at once.
    """
    totals = {name: Totals() for name in QUANTITIES}
    order = []
    for batch in batches(subject, text, batch_tokens):
        keys = torch.from_numpy(batch.tokens & ~batch.special).to(subject.device)
        queries = asked(keys, subject)
        attentions = subject.attentions(batch.ids, lengths=batch.lengths)
        _add(totals, "encoder", attentions, queries, keys)
        order.append(batch.sentences)
    return _not_empty(totals), np.concatenate(order)


def _add(
    totals: dict[str, Totals], kind: str, layers: Iterable[Tensor], queries: Tensor, keys: Tensor
) -> None:
    """Add a batch: weights of each layer `[batch, heads, queries, keys]`, and which queries and
    keys count."""
    there = keys[:, None, None, :]
    values = {
        "confidence": [weights.masked_fill(~there, 0).amax(dim=-1) for weights in layers],
        # Not 1 less the rest: in some families a sink that is no token takes a share of each row.
        "special": [weights.masked_fill(there, 0).sum(dim=-1) for weights in layers],
    }
    for name, of_layers in values.items():
        of_queries = torch.stack(of_layers, dim=1).double() * queries[:, None, None, :]
        totals[name].add(kind, of_queries.sum(dim=-1), queries.sum(dim=-1))


def _not_empty(totals: dict[str, Totals]) -> dict[str, Totals]:
    if totals["confidence"].empty():
        raise UserError("no token to attend from; confidence needs sentences with tokens")
    return totals


def asked(keys: Tensor, reader: Subject | TransformerConfig) -> Tensor:
    """Which of the tokens (`keys`) see another one, bool `[batch, length]`."""
    if not reader.causal:
        return keys & several(keys)
    return keys & (functional.pad(keys[:, 1:], (0, 1)) if reader.backward else _shifted(keys))


def several(keys: Tensor) -> Tensor:
    """Which sentences have two tokens (`keys`) or more, bool `[batch, 1]`."""
    return keys.sum(dim=-1, keepdim=True) > 1


def token_masks(
    source: Tensor, target: Tensor | None, config: TransformerConfig
) -> dict[str, tuple[Tensor, Tensor]]:
    """By kind of attention, which positions have a choice of tokens, and which are tokens, bool.

    source, target: padded ids `[batch, length]`; a mask has the shape of its side. config:
    the model's.
    """
    read = (source != PAD) & (source != EOS)
    if target is None:
        return {"encoder": (asked(read, config), read)}
    predicted = (target != PAD) & (target != EOS)
    # At each position a decoder reads the token before the one that it is to predict there.
    previous = _shifted(predicted)
    return {
        "encoder": (asked(read, config), read),
        "decoder": (predicted & previous, previous),
        "cross": (predicted & several(read), read),
    }


def _shifted(mask: Tensor) -> Tensor:
    return functional.pad(mask[:, :-1], (1, 0))
