"""How much the loss depends on each head: by its gradient, and by closing the head's gate."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor
from torch.nn import functional

from bottomup.heads.totals import Totals
from bottomup.model.transformer import Transformer
from bottomup.objectives import IGNORE, Example
from bottomup.training.loss import summed_loss


class Predictor(ABC):
    """A model with its loss, as a function of the gates of its heads.

    gates: the factors of the heads' outputs, `[heads]` for each layer from the bottom up, by kind
    of attention ("encoder", "decoder", "cross"). The next loss uses the values written there.
    """

    gates: dict[str, list[Tensor]]

    @abstractmethod
    def losses(self, example: Example) -> tuple[Tensor, Tensor]:
        """The cross-entropy of each sentence in nats, and its number of predicted tokens, both
        `[sentences]`."""

    def summed_loss(self, example: Example) -> tuple[Tensor, int]:
        """The same summed over sentences, with a gradient."""
        return self.losses(example)[0].sum(), example.predicted


class RunPredictor(Predictor):
    """One of our models, with its own gates."""

    def __init__(self, model: Transformer):
        self.model = model

    @property
    def gates(self) -> dict[str, list[Tensor]]:
        attentions = self.model.attentions()
        return {kind: [module.gates for module in modules] for kind, modules in attentions.items()}

    def losses(self, example: Example) -> tuple[Tensor, Tensor]:
        device = self.model.head.weight.device
        source = torch.from_numpy(example.source).to(device)
        target = None if example.target is None else torch.from_numpy(example.target).to(device)
        labels = torch.from_numpy(example.labels).to(device)
        return sentence_losses(self.model.head(self.model(source, target)), labels)

    def summed_loss(self, example: Example) -> tuple[Tensor, int]:
        return summed_loss(self.model, example, smoothing=0.0)


def gate_gradient(predictor: Predictor, examples: Iterable[Example]) -> Totals:
    """|d loss / d gate| of each head, summed over sentences, in nats per predicted token.

    The expected sensitivity of Michel et al. 2019 ("Are Sixteen Heads Really Better than One?",
    equation 2), for the loss of each sentence. Not normalized over the heads of a layer.
    """
    totals, gates = Totals(), predictor.gates
    for gate in (every := [gate for of_kind in gates.values() for gate in of_kind]):
        gate.requires_grad_(True)
    for example in examples:
        for sentence in example.split(len(example.source)):
            loss, predicted = predictor.summed_loss(sentence)
            slopes = iter(torch.autograd.grad(loss, every))
            for kind, of_kind in gates.items():
                found = torch.stack([next(slopes).abs() for _ in of_kind])
                totals.add(kind, found[None], torch.tensor([predicted]))
    for gate in every:
        gate.requires_grad_(False)
    return totals


@torch.inference_mode()
def loss_increase(predictor: Predictor, examples: Iterable[Example]) -> Totals:
    """The rise of the loss when a head's gate is closed, in nats per predicted token.

    One head at a time; negative if the model does better without it.
    """
    totals = Totals()
    for example in examples:
        whole, counts = predictor.losses(example)
        for kind, gates in predictor.gates.items():
            layers = [
                torch.stack([loss - whole for loss in without_each(predictor, gate, example)], 1)
                for gate in gates
            ]
            totals.add(kind, torch.stack(layers, dim=1), counts)
    return totals


def without_each(predictor: Predictor, gates: Tensor, example: Example) -> Iterator[Tensor]:
    """The losses of the sentences, `[sentences]`, with each gate of one attention closed in
    turn."""
    for head in range(len(gates)):
        before = gates[head].item()
        gates[head] = 0.0
        loss, _ = predictor.losses(example)
        gates[head] = before
        yield loss


def sentence_losses(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """`Predictor.losses` from logits `[sentences, length, vocab]` and labels `[sentences, length]`;
    IGNORE marks where nothing is predicted."""
    losses = functional.cross_entropy(
        logits.transpose(1, 2), labels, ignore_index=IGNORE, reduction="none"
    )
    return losses.double().sum(dim=1), (labels != IGNORE).sum(dim=1)
