"""What it costs a model to go on from another model's states: stitching.

One affine map takes a layer of one model into a layer of another. The upper layers of that one, its
output and, where it has one, its decoder are frozen, and read what the map makes (Lenc and Vedaldi
2015; Bansal, Nakkiran and Barak 2021, arXiv 2106.07682; Csiszárik et al. 2021, arXiv 2110.14633).
The cost is its loss with the other's states, less its own: 0 where these can stand in for its own.

The first fit of a map is least squares onto the states that it stands in for, a closed form. From
there the second follows the loss of the frozen model, which alone says which directions it reads.

Both models read the same text, as the frozen one reads it: with masks, where that has them. A
frozen model that sees no later token is given states that saw none. A model that sees both sides
reads each beginning of a sentence by itself for this; otherwise its states would hold the token
that is to be predicted.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bottomup.core.errors import UserError
from bottomup.core.layers import layer_at_depth
from bottomup.core.seeds import generator
from bottomup.corpus.batches import Text, in_order
from bottomup.corpus.specials import PAD
from bottomup.measures import jackknife
from bottomup.measures.examples import tensors
from bottomup.measures.least_squares import Map, least_squares
from bottomup.model.transformer import Encoder, Transformer, padding_mask
from bottomup.objectives import IGNORE, Objective
from bottomup.views.moments import Moments
from bottomup.views.values import deviations

# It affects results: masks are drawn by batch, and the loss of a batch is one update.
BATCH_TOKENS = 2048
LONGEST = 50  # tokens of a sentence; to read all its beginnings takes their square
PASSES = 2  # over the sentences that fit a map
LEARNING_RATE = 3e-3  # at the start, of neurons of unit variance; it falls to 0
LEAST_SQUARES, BY_LOSS = "least_squares", "loss"


@dataclass(frozen=True)
class Batch:
    """Sentences, by their numbers, as the frozen model reads and predicts them."""

    sentences: np.ndarray
    source: Tensor
    target: Tensor | None
    labels: Tensor

    @property
    def there(self) -> Tensor:
        """Where something is predicted."""
        return self.labels != IGNORE


States = list[Tensor]  # of one layer, by batch: `[batch, length, d_model]`


def batches(
    model: Transformer, objective: Objective, text: Text, count: int, seed: int
) -> list[Batch]:
    """`count` sentences of a text, drawn among the short ones; fewer, if there are not so many."""
    short = np.flatnonzero(text.lengths <= LONGEST)
    if not len(short):
        raise UserError(
            f"no sentence has {LONGEST} tokens or fewer, and stitching reads no longer ones; leave "
            "out the table stitching"
        )
    drawn = np.sort(generator(seed, "stitching").permutation(short)[:count])
    device, collected = model.head.weight.device, []
    for index, places in enumerate(in_order(text.select(drawn), BATCH_TOKENS)):
        rng = generator(seed, "stitching", index)
        sentences = drawn[places]
        example = objective.example(*text.batch(sentences), model.config.vocab_size, rng)
        collected.append(Batch(sentences, *tensors(example, device)))
    return collected


@torch.no_grad()
def read(encoder: Encoder, ids: Tensor, layers: list[int], causal: bool) -> Tensor:
    """The states of a batch at some layers, `[len(layers), batch, length, d_model]`.

    causal: whether a state may have seen no later token.
    """
    if causal and not encoder.causal:
        ends = range(1, ids.shape[1] + 1)
        last = [read(encoder, ids[:, :end], layers, causal=False)[:, :, -1] for end in ends]
        return torch.stack(last, dim=2)
    hidden = encoder(ids, output_hidden_states=True).hidden_states
    return torch.stack([hidden[layer] for layer in layers])


def losses(model: Transformer, batch: Batch, states: Tensor, layer: int) -> Tensor:
    """The cross-entropy of each prediction, in nats, if the model goes on from these states of a
    layer, `[batch, length, d_model]`."""
    encoder, mask = model.encoder, model.encoder.mask(batch.source)
    for above in encoder.layers[layer:]:
        states, _ = above(states, mask, encoder.causal)
    read_off = encoder.norm(states)
    if batch.target is not None:
        read_off = model.decoder(batch.target[:, :-1], read_off, padding_mask(batch.source))
    logits = model.head(read_off[batch.there])
    return functional.cross_entropy(logits, batch.labels[batch.there], reduction="none")


def least_squares_and_scale(text: list[Batch], x: States, y: States) -> tuple[Map, Moments]:
    """The map from x to y with the least squared error over all tokens, and their moments."""
    moments = Moments(x[0].shape[-1], y[0].shape[-1])
    for batch, of_x, of_y in zip(text, x, y, strict=True):
        tokens = batch.source != PAD
        moments.update(of_x[tokens].cpu(), of_y[tokens].cpu())
    return least_squares(moments), moments


def by_loss(
    model: Transformer,
    text: list[Batch],
    x: States,
    layer: int,
    start: Map,
    moments: Moments,
    seed: int,
) -> Map:
    """The map that Adam reaches from `start`, by the frozen model's loss.

    Adam learns what to add to `start`, between neurons of unit variance. To and from a constant
    neuron nothing is added.
    """
    of_x = deviations(moments.xx.diagonal(), moments.mean_x)
    of_y = np.nan_to_num(deviations(moments.yy.diagonal(), moments.mean_y), posinf=0)
    numbers = (moments.mean_x, of_y / of_x[:, None], of_y)
    mean, of_weight, of_bias = (torch.from_numpy(part).float().to(x[0]) for part in numbers)
    first = start._replace(weight=start.weight.to(x[0]), bias=start.bias.to(x[0]))
    added = [torch.zeros_like(part, requires_grad=True) for part in (first.weight, first.bias)]
    adam = torch.optim.Adam(added, lr=LEARNING_RATE)
    falling = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.0, PASSES * len(text))

    def whole() -> Map:
        weight, bias = added[0] * of_weight, added[1] * of_bias
        return Map(first.weight + weight, first.bias + bias - mean @ weight, first.n)

    rng = generator(seed, "stitching", "order")
    for place in np.concatenate([rng.permutation(len(text)) for _ in range(PASSES)]):
        loss = losses(model, text[place], whole().of(x[place]), layer)
        if len(loss):
            adam.zero_grad()
            loss.mean().backward()
            adam.step()
        falling.step()
    with torch.no_grad():
        return whole()


def stitching(
    model: Transformer,
    objective: Objective,
    others: Iterable[tuple[dict, Transformer]],
    train: Text,
    test: Text,
    blocks: np.ndarray,
    *,
    layers: list[int],
    sentences: int,
    seed: int,
) -> Iterator[dict]:
    """Rows of `stitching.csv` for one frozen model, see docs/tables.md.

    others: what names each in the table, and the model. train: what the maps are fitted on; test:
    what they are measured on. blocks: the block of each sentence of the latter. layers: those of
    the frozen model; the other model gives its layers at the same share of the depth. sentences:
    how many are drawn from each text.
    """
    model.requires_grad_(False)
    depth, causal = model.config.encoder_layers, model.encoder.causal
    fit, measured = (batches(model, objective, text, sentences, seed) for text in (train, test))
    replaced, usual = (_states(model.encoder, some, layers, causal) for some in (fit, measured))
    before = _losses(model, measured, usual[0], layers[0])
    at = np.concatenate([np.repeat(b.sentences, b.there.sum(dim=1).cpu()) for b in measured])
    within, count = blocks[at], jackknife.n_blocks(blocks)
    for name, other in others:
        theirs = [layer_at_depth(at, depth, other.config.encoder_layers) for at in layers]
        x, given = (_states(other.encoder, some, theirs, causal) for some in (fit, measured))
        for place, (from_layer, layer) in enumerate(zip(theirs, layers, strict=True)):
            first, moments = least_squares_and_scale(fit, x[place], replaced[place])
            second = by_loss(model, fit, x[place], layer, first, moments, seed)
            for method, by in ((LEAST_SQUARES, first), (BY_LOSS, second)):
                states = [by.of(part) for part in given[place]]
                costs = _losses(model, measured, states, layer) - before
                mean = jackknife.means(costs, within, count)
                size = by.size(len(at))
                if size["n"] < size["n_needed"]:
                    mean[:] = np.nan
                yield {
                    **name,
                    **{"from_layer": from_layer, "layer": layer, "fit": method},
                    **jackknife.estimate("value", mean[0], mean[1:], jackknife.ANY),
                    **{"own_nats": float(before.mean()), **size},
                }


def _states(encoder: Encoder, text: list[Batch], layers: list[int], causal: bool) -> list[States]:
    """The states of a text, by layer."""
    by_batch = [read(encoder, batch.source, layers, causal) for batch in text]
    return [[of_batch[place] for of_batch in by_batch] for place in range(len(layers))]


@torch.no_grad()
def _losses(model: Transformer, text: list[Batch], states: States, layer: int) -> np.ndarray:
    """The losses of all batches, one after another, `[n]`."""
    by_batch = [losses(model, *both, layer) for both in zip(text, states, strict=True)]
    return torch.cat(by_batch).double().cpu().numpy()
