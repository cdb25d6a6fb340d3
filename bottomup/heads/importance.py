"""How important heads are: what they attend to, and how much the loss depends on each, by its
gradient, and by closing the head's gate."""

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor

from bottomup.corpus.batches import Text
from bottomup.heads import tasks
from bottomup.heads.examples import references
from bottomup.heads.predictor import Predictor
from bottomup.heads.totals import Totals
from bottomup.objectives import Example


def importances(
    predictor: Predictor, text: Text, settings: tasks.Examination
) -> Iterator[tuple[str, Totals, np.ndarray]]:
    """Each importance by name, its totals, and the numbers of their sentences in `text`, in order.

    First those that attention tells. Then gradient and loss on the references, if the text has
    something that the model was trained to predict.
    """
    of_attention = tasks.load(settings.run, "importances").of_attention
    by_name, order = of_attention(predictor, text, settings)
    for name, totals in by_name.items():
        yield name, totals, order
    if not predictor.predicts(text):
        logging.info(
            "no gradient and no loss without a head: the model predicts neither masked tokens, nor "
            "the next one, nor a translation that the text has"
        )
        return
    examples, order = references(predictor, text, settings.seed), np.arange(len(text.source))
    yield "gradient", gate_gradient(predictor, examples), order
    yield "loss_increase", loss_increase(predictor, predictor.together(examples)), order


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
                magnitudes = torch.stack([next(slopes).abs() for _ in of_kind])
                totals.add(kind, magnitudes[None], torch.tensor([predicted]))
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
        without = losses()
        gates[head] = before
        yield without
