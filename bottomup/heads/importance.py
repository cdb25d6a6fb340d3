"""How much the loss depends on each head: by its gradient, and by closing the head's gate."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from bottomup.heads.totals import Totals
from bottomup.model.transformer import Transformer, padding_mask
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

    def losses_from(self, example: Example) -> Callable[[str, int], Tensor]:
        """The losses `[sentences]` as a function of a kind of attention and a layer, from 0, whose
        gates may have changed since; all others are as they are now."""
        return lambda kind, layer: self.losses(example)[0]

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
        source, target, labels = self._read(example)
        return self._sentence_losses(self.model(source, target), labels)

    def losses_from(self, example: Example) -> Callable[[str, int], Tensor]:
        """As above; layers below the changed one are not computed again."""
        model, (source, target, labels) = self.model, self._read(example)
        mask, own_mask = padding_mask(source), model.encoder.mask(source)
        encoder = [
            partial(layer, mask=own_mask, causal=model.encoder.causal)
            for layer in model.encoder.layers
        ]
        read = entering(encoder, model.encoder.embed(source))
        if target is not None:
            memory = model.decoder.project_memory(model.encoder.norm(read[-1]))
            decoder = [
                partial(layer, memory=of_layer, memory_mask=mask)
                for layer, of_layer in zip(model.decoder.layers, memory, strict=True)
            ]
            written = entering(decoder, model.decoder.embed(target[:, :-1]))

        def losses(kind: str, first: int) -> Tensor:
            if kind == "encoder":
                states = model.encoder.norm(entering(encoder[first:], read[first])[-1])
                if target is not None:
                    states = model.decoder(target[:, :-1], states, mask)
            else:
                states = model.decoder.norm(entering(decoder[first:], written[first])[-1])
            return self._sentence_losses(states, labels)[0]

        return losses

    def _read(self, example: Example) -> tuple[Tensor, Tensor | None, Tensor]:
        """Source, target and labels on the model's device."""
        device = self.model.head.weight.device
        target = None if example.target is None else torch.from_numpy(example.target).to(device)
        source, labels = (torch.from_numpy(x).to(device) for x in (example.source, example.labels))
        return source, target, labels

    def _sentence_losses(self, states: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """`losses` from `[sentences, length, d_model]`."""
        return sentence_losses(self.model.head(states[labels != IGNORE]), labels)

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
        losses_from = predictor.losses_from(example)
        for kind, of_kind in predictor.gates.items():
            layers = [
                torch.stack(list(without_each(gates, partial(losses_from, kind, layer))), dim=1)
                for layer, gates in enumerate(of_kind)
            ]
            totals.add(kind, torch.stack(layers, dim=1) - whole[:, None, None], counts)
    return totals


def without_each(gates: Tensor, losses: Callable[[], Tensor]) -> Iterator[Tensor]:
    """The losses of the sentences, `[sentences]`, with each gate of one attention closed in
    turn."""
    for head in range(len(gates)):
        before = gates[head].item()
        gates[head] = 0.0
        found = losses()
        gates[head] = before
        yield found


def entering(layers: Iterable[Callable], x: Tensor) -> list[Tensor]:
    """What each layer reads, from `x` up, and what the last one hands on."""
    found = [x]
    for layer in layers:
        found.append(layer(found[-1])[0])
    return found


def sentence_losses(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """`Predictor.losses` from labels `[sentences, length]` and logits `[predicted, vocab]` where
    they are not IGNORE."""
    there = labels != IGNORE
    found = functional.cross_entropy(logits, labels[there], reduction="none")
    losses = found.new_zeros(labels.shape)  # under autocast wider than the logits
    losses[there] = found
    return losses.double().sum(dim=1), there.sum(dim=1)
