"""Relevance of attention heads by layer-wise relevance propagation (Voita et al. ACL 2019, 4).

This works for our own models only. Relevance is conserved only if a rule covers each step of a
layer, and families differ in just these steps: the place of norms and whether they subtract the
mean, products of two branches in gated feed-forward layers, queries and keys rotated by position,
biases added to scores. transformers exposes the inputs and outputs of layers but not these steps,
so each family would need its own copy of every layer, tested against the original. The gradient
and the loss without a head (`bottomup.heads.importance`) need no such rules.
"""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor

from bottomup.core.errors import UserError
from bottomup.heads.propagation import RULES, Rule
from bottomup.heads.totals import Totals
from bottomup.heads.trace import AttentionStep, Stack, Trace, trace
from bottomup.measures.examples import tensors
from bottomup.model.transformer import Transformer
from bottomup.objectives import IGNORE, Example

# Size of the largest array, an attention's over all predictions; memory holds about eight of them.
AT_ONCE = 2**22


@dataclass(frozen=True)
class Relevance:
    """The relevance of heads and embeddings for each prediction of a batch.

    predictions: bool `[batch, predictions]`, False where a sentence has fewer than others.
    heads: by kind of attention ("encoder", "decoder", "cross"), the sum over a head's neurons at
        all positions, `[layers, batch, predictions, heads]`.
    source, target: the relevance of the embeddings that encoder and decoder read, summed over
        dimensions, `[batch, length, predictions]`. Position t of the target is token t - 1; 0 is
        the zero vector that starts it. Without a decoder there is no target.
    """

    predictions: Tensor
    heads: dict[str, Tensor]
    source: Tensor
    target: Tensor | None


def head_relevance(
    model: Transformer, examples: Iterable[Example], rule: str = "alpha_beta"
) -> Totals:
    """The share of each head in the relevance of its layer, 0 to 1, mean over all predictions.

    examples: what the model reads and where it predicts; for translation, the decoder reads the
    model's own translation. Each prediction starts from the top-1 logit, whatever the label. On a
    CPU batches of one sentence are fastest. rule: "ratio" or "alpha_beta", see
    `bottomup.heads.propagation`.

    Relevance under `ratio` can be negative; its absolute value counts. The shares of a layer sum to
    1, or to 0 if all its gates are closed.
    """
    if rule not in RULES:
        raise UserError(f"relevance rule {rule!r}; allowed: {' or '.join(RULES)}")
    model = deepcopy(model).to(RULES[rule].dtype)
    totals = Totals()
    for example in examples:
        relevance = propagate(model, example, RULES[rule])
        predictions = relevance.predictions
        for kind, heads in relevance.heads.items():
            heads = heads.abs()
            sums = heads.sum(dim=-1, keepdim=True)
            shares = heads / torch.where(sums > 0, sums, 1) * predictions[..., None]
            totals.add(kind, shares.double().sum(dim=2).transpose(0, 1), predictions.sum(dim=1))
    if totals.empty():
        raise UserError("no prediction to explain; relevance needs an objective that predicts")
    return totals


@torch.no_grad()
def propagate(model: Transformer, example: Example, rule: Rule) -> Relevance:
    """The relevance for every prediction of a batch, from its top-1 logit, which has relevance 1.

    model: in the rule's number format. As many predictions go down at once as `AT_ONCE` allows.
    """
    source, target, labels = tensors(example, model.head.weight.device)
    run = trace(model, source, target)
    relevance, predictions = top_logits(model, run.states, labels != IGNORE, rule)
    length = max(source.shape[1], labels.shape[1])
    at_once = max(1, AT_ONCE // (len(source) * model.config.heads * length**2))
    parts = [_propagated(run, part, rule) for part in relevance.split(at_once, dim=2)]
    heads, on_source, on_target = zip(*parts, strict=True)
    return Relevance(
        predictions,
        {kind: torch.cat([part[kind] for part in heads], dim=2) for kind in heads[0]},
        torch.cat(on_source, dim=-1),
        None if run.decoder is None else torch.cat(on_target, dim=-1),
    )


def _propagated(
    run: Trace, relevance: Tensor, rule: Rule
) -> tuple[dict[str, Tensor], Tensor, Tensor | None]:
    """The relevance of heads, source and target (see `Relevance`), from that of the states."""
    heads: dict[str, Tensor] = {}
    on_target = None
    if run.decoder is not None:
        relevance, on_source = down(run.decoder, relevance, rule, heads)
        on_target = relevance.sum(dim=-1)
        relevance = on_source
    relevance, _ = down(run.encoder, relevance, rule, heads)
    return heads, relevance.sum(dim=-1), on_target


def top_logits(
    model: Transformer, states: Tensor, predicted: Tensor, rule: Rule
) -> tuple[Tensor, Tensor]:
    """The relevance of `states` to the top-1 logits, `[batch, length, predictions, d_model]`.

    states: `[batch, length, d_model]`; predicted: bool `[batch, length]`. Also returns which
    predictions exist, `[batch, predictions]`, in the order of their positions.
    """
    batch, length, d_model = states.shape
    counts = predicted.sum(dim=1, keepdim=True)
    n = int(counts.max())
    is_prediction = torch.arange(n, device=states.device) < counts
    positions = (~predicted).to(torch.int8).argsort(dim=1, stable=True)[:, :n, None]
    states = states.gather(1, positions.expand(-1, -1, d_model))
    rows = model.head.weight[model.head(states).argmax(dim=-1)]
    split = rule.logit(rows * states) * is_prediction[..., None]
    relevance = states.new_zeros(batch, length, n, d_model)
    index = positions[..., None].expand(-1, -1, -1, d_model).transpose(1, 2)
    return relevance.scatter_(1, index, split[:, None]), is_prediction


def down(
    stack: Stack, relevance: Tensor, rule: Rule, heads: dict[str, Tensor]
) -> tuple[Tensor, Tensor]:
    """From a stack's states to its embeddings and to the memory that it attends to.

    Writes the relevance of each head into `heads`.
    """
    memory = relevance.new_zeros(())
    layers: dict[str, list[Tensor]] = {}
    relevance = rule.norm(relevance, stack.top, stack.norm)
    for step in reversed(stack.steps):
        relevance, update = rule.add(relevance, step.x, step.update)
        if isinstance(step, AttentionStep):
            by_head = to_heads(step, update, rule)
            layers.setdefault(step.kind, []).append(by_head.sum(dim=(2, 4)).transpose(1, 2))
            normed, to_memory = through_attention(step, by_head, rule)
            memory = memory + to_memory
        else:
            inner = rule.linear(
                update, step.inner, step.module.outer.weight, step.module.outer.bias
            )
            normed = rule.linear(
                inner, step.normed, step.module.inner.weight, step.module.inner.bias
            )
        relevance = relevance + rule.norm(normed, step.x, step.norm)
    for kind, of_kind in layers.items():
        heads[kind] = torch.stack(of_kind[::-1])
    return relevance, memory


def to_heads(step: AttentionStep, relevance: Tensor, rule: Rule) -> Tensor:
    """From an attention's update to its heads' outputs, `[batch, heads, length, n, d_head]`.

    A head with a closed gate is not an input of the output projection and takes no share of its
    bias. So a gated model has the same relevance as a model without the head.
    """
    d_head = step.values.shape[-1]
    is_open = (step.module.gates != 0).repeat_interleave(d_head)
    outputs = relevance.new_zeros(*relevance.shape[:-1], len(is_open))
    outputs[..., is_open] = rule.linear(
        relevance,
        step.outputs[..., is_open],
        step.module.gated_output()[:, is_open],
        step.module.out.bias,
    )
    return split_heads(outputs, step.module.heads)


def through_attention(
    step: AttentionStep, relevance: Tensor, rule: Rule
) -> tuple[Tensor, Tensor | int]:
    """From the heads' outputs to what the queries read, and to the memory of cross-attention."""
    parts = rule.attention(relevance, step.queries, step.keys, step.values, step.weights)
    queries, keys, values = (merge_heads(part) for part in parts)
    query, key_value = step.module.query, step.module.key_value
    if step.memory is None:
        joint = torch.cat([queries, keys, values], dim=-1)
        weight = torch.cat([query.weight, key_value.weight])
        return rule.linear(joint, step.normed, weight, torch.cat([query.bias, key_value.bias])), 0
    return (
        rule.linear(queries, step.normed, query.weight, query.bias),
        rule.linear(
            torch.cat([keys, values], dim=-1), step.memory, key_value.weight, key_value.bias
        ),
    )


def split_heads(relevance: Tensor, heads: int) -> Tensor:
    """`[batch, length, n, d_model]` to `[batch, heads, length, n, d_head]`."""
    return relevance.unflatten(-1, (heads, -1)).movedim(3, 1)


def merge_heads(relevance: Tensor) -> Tensor:
    """`[batch, heads, length, n, d_head]` to `[batch, length, n, d_model]`."""
    return relevance.movedim(1, 3).flatten(3)
