"""How far apart heads are by what they attend to, within one model and between two.

The distance of two heads is the Jensen-Shannon divergence of their attention from one query, mean
over the queries of a text (Clark et al. 2019, "What Does BERT Look At?", section 6): 0 where they
attend alike, ln 2 nats where nothing that one attends to has any of the other's attention. What a
head leaves to no token counts as the attention to one token more. Queries are tokens of the text,
but for those that see nothing besides themselves in one of the models, and those in sentences of a
length that no other one has.

Heads that attend evenly are all alike, and much of attention is a matter of place. So a small
distance alone says little. Beside the nearest head stand the mean distance of the others, and what
is nearest where the second model reads another sentence of the same length: with its tokens
changed, only place is left in common.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from bottomup.core.layers import layer_at_depth
from bottomup.core.seeds import generator
from bottomup.corpus.tokens import TokenFile
from bottomup.measures import jackknife
from bottomup.measures.attention_patterns import left_over, seen_by
from bottomup.measures.jackknife import Range
from bottomup.subjects import Subject
from bottomup.subjects.batches import Batch, batches, side_by_side

SAME, OTHERS, ONE = "layer", "other_layers", "one"
NEAREST, MEAN, BY_PLACE, DISTANCE = "nearest", "mean", "nearest_by_place", "distance"
WITHIN = Range(0, float(np.log(2)))


@dataclass(frozen=True)
class Distances:
    """The distances in nats of each two heads, `[1 + count, heads_a, heads_b]`: with all blocks of
    documents, then without each of `count`.

    values: both models read the same sentence. by_place: b reads another one of the same length.
    n: on how many queries they rest.
    """

    values: np.ndarray
    by_place: np.ndarray
    n: int


def others_of_length(lengths: np.ndarray, seed: int) -> np.ndarray:
    """For each sentence another one, drawn among those of its length, of which there are two or
    more: `[n]`."""
    random, others = generator(seed, "head distances"), np.arange(len(lengths))
    for length in np.unique(lengths):
        order = random.permutation(np.flatnonzero(lengths == length))
        others[order] = np.roll(order, 1)
    return others


def divergences(a: Tensor, b: Tensor) -> Tensor:
    """The Jensen-Shannon divergences of each two heads in one sentence, summed over queries, in
    nats: from `[heads_a, queries, keys]` and `[heads_b, queries, keys]` to `[heads_a, heads_b]`.

    Queries of which all weights are 0 add nothing.
    """
    own, others = (entropies(of) / 2 for of in (a, b))
    mixed = torch.stack([entropies((head + b) / 2) for head in a])
    return (mixed - own[:, None] - others).clamp(min=0)  # rounding leaves less of equal heads


def entropies(attention: Tensor) -> Tensor:
    """The entropies of each head's attention, summed over queries, in nats: `[heads]`."""
    # This takes half the time of torch.special.entr.
    tiny = torch.finfo(attention.dtype).tiny
    return -(attention * attention.clamp(min=tiny).log()).sum(dim=(-2, -1))


def distances(
    a: Subject,
    b: Subject,
    text: TokenFile,
    blocks: np.ndarray,
    count: int,
    seed: int,
    batch_tokens: int,
) -> Distances:
    """The distances of the open heads of two models, by layer, that read the same tokens.

    blocks: the block of documents of each sentence, below `count`. seed: draws the other sentences.
    batch_tokens: padded tokens to read at once.
    """
    alike = pd.Series(text.lengths).groupby(text.lengths).transform("size").to_numpy()
    paired = np.flatnonzero(alike > 1)
    text, blocks = text.select(paired), blocks[paired]
    others = others_of_length(text.lengths, seed)
    totals = np.zeros((2, len(text), *(sum(map(len, of.open_heads)) for of in (a, b))))
    queries = np.zeros(len(text))
    for batch in batches(a, text, batch_tokens):
        elsewhere = side_by_side(b, text, others[batch.sentences])
        places = torch.ones(2 * batch.ids.shape[1:], dtype=torch.bool)
        seen = [seen_by(batch, of.seen(places)) for of in (a, b)]
        asked = seen[0].any(dim=-1) & seen[1].any(dim=-1)
        see_a, see_b = (see & asked[..., None] for see in seen)
        maps = [
            attention(a, batch, see_a),
            attention(b, batch, see_b),
            attention(b, elsewhere, see_b),
        ]
        # One sentence at a time: larger arrays do not fit a core's cache.
        for place, (sentence, n) in enumerate(zip(batch.sentences, batch.lengths, strict=True)):
            of_a, *both = (of[place, :, :n, : 1 + n] for of in maps)
            totals[:, sentence] = np.stack([divergences(of_a, of_b) for of_b in both])
        queries[batch.sentences] = asked.sum(dim=-1)
    # `by_place` is about two sentences, mostly of two documents: it is left out with either.
    values, by_place = (
        jackknife.ratio(
            jackknife.sums(of, some, count), jackknife.sums(queries, some, count)[:, None, None]
        )
        for of, some in zip(totals, (blocks, np.stack([blocks, blocks[others]], 1)), strict=True)
    )
    return Distances(values, by_place, int(queries.sum()))


def attention(subject: Subject, batch: Batch, seen: Tensor) -> Tensor:
    """The weights of the open heads, layer by layer, `[batch, heads, queries, 1 + keys]`. First is
    what each leaves to no key.

    seen: which keys the queries that count see, bool `[batch, queries, keys]`.
    """
    layers = subject.attentions(batch.ids, lengths=batch.lengths)
    weights = [of[:, some] for of, some in zip(layers, subject.open_heads, strict=True)]
    to_keys = torch.cat(weights, dim=1).float().cpu().masked_fill(~seen[:, None], 0)
    return torch.cat([left_over(to_keys, seen)[..., None], to_keys], dim=-1)


def places(subject: Subject) -> tuple[np.ndarray, np.ndarray]:
    """The layer and the number of each open head, both from 1."""
    heads = [of.cpu().numpy() + 1 for of in subject.open_heads]
    return np.repeat(np.arange(1, len(heads) + 1), [*map(len, heads)]), np.concatenate(heads)


def rows(measured: Distances, a: Subject, b: Subject) -> Iterator[dict]:
    """Rows of `head_distances.csv` for the heads of a, see docs/tables.md; in one model a is b.
    Layers and heads count from 1."""
    (layers, heads), (other_layers, other_heads) = places(a), places(b)

    def one_row(among: str, quantity: str, row: int, to: int | None, values: np.ndarray) -> dict:
        return {
            "layer": int(layers[row]),
            "head": int(heads[row]),
            "among": among,
            "quantity": quantity,
            **jackknife.estimate("value", values[0], values[1:], WITHIN),
            "to_layer": None if to is None else int(other_layers[to]),
            "to_head": None if to is None else int(other_heads[to]),
            "n": measured.n,
        }

    for row, layer in enumerate(layers):
        same = other_layers == max(1, layer_at_depth(layer, a.layers, b.layers))
        kept = np.arange(len(other_heads)) != (row if a is b else -1)
        for among, some in ((SAME, same & kept), (OTHERS, ~same & kept)):
            if not some.any():
                continue
            values, by_place = (of[:, row, some] for of in (measured.values, measured.by_place))
            known = np.isfinite(values[0]).all()
            best = np.flatnonzero(some)[values[0].argmin()] if known else None
            for quantity, of, to in (
                (NEAREST, values.min(axis=1), best),
                (MEAN, values.mean(axis=1), None),
                (BY_PLACE, by_place.min(axis=1), None),
            ):
                yield one_row(among, quantity, row, to, of)
        for other in range(row + 1, len(heads)) if a is b else ():
            yield one_row(ONE, DISTANCE, row, other, measured.values[:, row, other])
