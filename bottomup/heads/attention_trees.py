"""Whether the attention of a head joins the words that the syntax tree joins.

The weights between two words, both ways, are added, and the tree of largest total weight that joins
all words is taken (Raganato and Tiedemann 2018; Htut et al. 2019, arXiv 1911.12246, without
directions). Weights to the sub-words of a word are added, those from them averaged (Clark et al.
2019). The score is the share of the parser's edges that it has (UUAS), without punctuation.

The best of many heads looks better than it is, so a head is chosen on half of the documents and
scored on the other half. A chain of neighboring words, which is what a tree that branches to the
right is without directions, needs no model. A head that attends by position alone also finds part
of a tree: `by_place` is the score of its attention in another sentence of the same length.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from bottomup.corpus.tokens import NO_WORD, TokenFile
from bottomup.heads.functions import word_attention
from bottomup.measures import jackknife
from bottomup.measures.structural_probe import (
    NEEDED,
    Trees,
    chain,
    edges_of_blocks,
    permuted,
    spanning_trees,
    uuas,
    with_others,
)
from bottomup.subjects import Subject
from bottomup.subjects.batches import batches

HEAD, MEAN, MODEL = "head", "mean", "model"


def between_words(subject: Subject, text: TokenFile, length: int, batch_tokens: int) -> np.ndarray:
    """The attention between each two words of sentences of `length` words, both ways: `[n, columns,
    length, length]`. Columns are the open heads, layer by layer, then the mean of each layer's."""
    by_batch: list[Tensor] = []
    order = []
    for batch in batches(subject, text, batch_tokens):
        numbers = torch.from_numpy(np.where(batch.tokens, text.words[batch.index], NO_WORD))
        layers = [
            word_attention(weights[:, some].float(), numbers.to(subject.device), length).cpu()
            for weights, some in zip(
                subject.attentions(batch.ids, lengths=batch.lengths),
                subject.open_heads,
                strict=True,
            )
        ]
        means = [of.mean(dim=1, keepdim=True) for of in layers]
        by_batch.append(torch.cat([*layers, *means], dim=1))
        order.append(batch.sentences)
    weights = torch.cat(by_batch)[np.argsort(np.concatenate(order))]
    return (weights + weights.mT).numpy()


def recovered_edges(
    subject: Subject, text: TokenFile, parses: Sequence[Trees], batch_tokens: int
) -> list[np.ndarray]:
    """How many edges of each tree are found, `[2, n, columns]` for the sentences of each length.

    First by the attention in the sentence itself, then by that in another one of the same length;
    NaN if there is no other.

    text: the sentences as the subject reads them. parses: their trees, as `trees` has them. Columns
    as in `between_words`.
    """
    starts = np.sort(np.concatenate([one.rows[:, 0] for one in parses]))
    recovered = []
    for one in parses:
        n, length = one.rows.shape
        some = text.select(np.searchsorted(starts, one.rows[:, 0]))
        weights = between_words(subject, some, length, batch_tokens)
        counted = one.counted.repeat(weights.shape[1], axis=0)
        both = [
            spanning_trees(-of.reshape(-1, length, length), counted).reshape(of.shape)
            for of in (weights, np.roll(weights, 1, axis=0))
        ]
        edges = np.stack([(of & one.edges[:, None]).sum((2, 3)) / 2 for of in both])
        edges[1] = edges[1] if n > 1 else np.nan
        recovered.append(edges)
    return recovered


def attention_trees(
    subject: Subject,
    texts: Sequence[TokenFile],
    parses: Sequence[Sequence[Trees]],
    count: int,
    seed: int,
    batch_tokens: int,
) -> Iterator[dict]:
    """Rows of `attention_trees.csv`, see docs/tables.md; layers and heads count from 1.

    texts, parses: sentences on which a head is chosen, with their trees, and those on which it is
    scored. count: the number of blocks. seed: draws whose trees change places for `permuted`.
    """
    to_choose, asked = parses
    to_score = with_others(asked)
    sizes = [sum(len(one.rows) for one in of) for of in (to_choose, to_score)]
    enough = min(sizes) >= NEEDED
    controls = dict.fromkeys(("chain", "permuted"), np.nan)
    heads = [(layer, head) for layer, of in enumerate(subject.open_heads) for head in of.tolist()]
    if enough:
        chosen, scored = (
            recovered_edges(subject, text, of, batch_tokens)
            for text, of in zip(texts, parses, strict=True)
        )
        scored = [of for of, one in zip(scored, asked, strict=True) if len(one.rows) > 1]
        at = sum(of[0].sum(axis=0) for of in chosen) / _edges(to_choose)
        controls["chain"] = chain(to_score, count)["uuas"]
        controls["permuted"] = permuted(to_score, count, seed)["uuas"]
    else:
        at = np.full(len(heads) + subject.layers, np.nan)
    cases = edges_of_blocks(to_score, count) if enough else None
    for of, layer, head, column in _columns(at, heads, subject.layers):
        named = {"layer": layer + 1, "of": of, "head": None if head is None else head + 1}
        scores = np.full(1 + count, np.nan), np.nan
        if enough:
            scores = _scores(scored, to_score, column, count)
        yield {
            **named,
            **jackknife.estimate("value", scores[0][0], scores[0][1:], jackknife.UNIT, cases),
            **{"chosen_at": float(at[column]), "by_place": float(scores[1]), **controls},
            **{"n": sizes[1] if enough else min(sizes), "n_needed": NEEDED},
        }


def _columns(
    at: np.ndarray, heads: list[tuple[int, int]], layers: int
) -> Iterator[tuple[str, int, int | None, int]]:
    """What each row of the table is about: its kind, layer, head and column. at: UUAS by column."""
    of_heads = np.nan_to_num(at[: len(heads)])
    for layer in range(layers):
        columns = [column for column, (of, _) in enumerate(heads) if of == layer]
        if columns:
            best = max(columns, key=of_heads.__getitem__)
            yield HEAD, *heads[best], best
            yield MEAN, layer, None, len(heads) + layer
    if heads:
        column = int(of_heads.argmax())
        yield MODEL, *heads[column], column


def _scores(
    recovered: Sequence[np.ndarray], parses: Sequence[Trees], column: int, count: int
) -> tuple[np.ndarray, float]:
    """UUAS of a column, with all blocks and without each, `[1 + count]`; and in other sentences."""
    own = uuas([of[0, :, column] for of in recovered], parses, count)
    return own, sum(of[1, :, column].sum() for of in recovered) / _edges(parses)


def _edges(parses: Sequence[Trees]) -> int:
    return sum(int(one.edges.sum()) // 2 for one in parses)
