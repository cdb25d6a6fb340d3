"""How much the loss owes to each head: by its gradient, and by closing the head's gate."""

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from bottomup.heads.totals import Totals
from bottomup.model.attention import Attention
from bottomup.model.transformer import Transformer
from bottomup.objectives import IGNORE, Example
from bottomup.training.loss import summed_loss


def gate_gradient(model: Transformer, examples: Iterable[Example]) -> Totals:
    """|d loss / d gate| of each head, summed over sentences, in nats per predicted token.

    The expected sensitivity of Michel et al. 2019 ("Are Sixteen Heads Really Better than One?",
    equation 2), for the loss of each sentence. Not normalized over the heads of a layer.
    """
    totals, attentions = Totals(), model.attentions()
    gates = {kind: [module.gates for module in modules] for kind, modules in attentions.items()}
    for gate in (every := [gate for of_kind in gates.values() for gate in of_kind]):
        gate.requires_grad_(True)
    for example in examples:
        for sentence in example.split(len(example.source)):
            loss, predicted = summed_loss(model, sentence, smoothing=0.0)
            slopes = iter(torch.autograd.grad(loss, every))
            for kind, of_kind in gates.items():
                found = torch.stack([next(slopes).abs() for _ in of_kind])
                totals.add(kind, found[None], torch.tensor([predicted]))
    for gate in every:
        gate.requires_grad_(False)
    return totals


@torch.inference_mode()
def loss_increase(model: Transformer, examples: list[Example]) -> Totals:
    """By how much the loss rises with a head's gate closed, in nats per predicted token.

    One head at a time; negative where the model does better without it.
    """
    totals = Totals()
    for example in examples:
        whole, counts = sentence_losses(model, example)
        for kind, modules in model.attentions().items():
            layers = [
                torch.stack([loss - whole for loss in without_each(model, module, example)], dim=1)
                for module in modules
            ]
            totals.add(kind, torch.stack(layers, dim=1), counts)
    return totals


def without_each(model: Transformer, attention: Attention, example: Example) -> Iterator[Tensor]:
    """The sentences' losses, `[sentences]`, with each gate of one attention closed in turn."""
    for head in range(attention.heads):
        before = attention.gates[head].item()
        attention.gates[head] = 0.0
        loss, _ = sentence_losses(model, example)
        attention.gates[head] = before
        yield loss


def sentence_losses(model: Transformer, example: Example) -> tuple[Tensor, Tensor]:
    """Cross-entropy of each sentence in nats, and its number of predicted tokens, `[sentences]`."""
    device = model.head.weight.device
    source = torch.from_numpy(example.source).to(device)
    target = None if example.target is None else torch.from_numpy(example.target).to(device)
    labels = torch.from_numpy(example.labels).to(device)
    logits = model.head(model(source, target)).transpose(1, 2)  # [sentences, vocab, length]
    losses = torch.nn.functional.cross_entropy(
        logits, labels, ignore_index=IGNORE, reduction="none"
    )
    return losses.double().sum(dim=1), (labels != IGNORE).sum(dim=1)
