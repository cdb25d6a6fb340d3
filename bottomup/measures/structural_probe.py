"""Whether a linear map of a layer holds the syntax tree of a sentence.

The structural probe (Hewitt and Manning 2019, "A Structural Probe for Finding Syntax in Word
Representations") looks for a map B under which

- the squared distance of two words, |B(h_i - h_j)|^2, is their distance in the dependency tree, the
  number of edges between them;
- in a second probe, the squared length |B h_i|^2 of a word is its depth, the number of edges to the
  root.

Both are linear in M = B'B, so what fits best is a convex question, with one optimum: here L-BFGS
looks for it. A square B, started from a multiple of the identity, reaches every M, and a minimum of
B is that of M, whether or not B has full rank there (Journée et al. 2010, "Low-rank optimization on
the cone of positive semidefinite matrices"). So no rank, no seed and no rate of learning is chosen.
The published probe takes batches of 20 sentences, Adam and early stopping.

Trees are those of a parser, or of a treebank. Punctuation is left out of trees and of the choice
of a root, as published, but not of distances and depths. Here it is the relation `punct`; the
published code goes by Penn tags, and joins the words that hang on punctuation. Sentences have 5 to
50 words here, as those of the published correlations; its edges and roots are of all sentences.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from scipy.stats import rankdata
from torch import Tensor
from torch.nn import functional
from torch.optim import LBFGS

from bottomup.core.device import device as best_device
from bottomup.core.seeds import generator
from bottomup.corpus.tokens import TokenFile
from bottomup.measures import jackknife
from bottomup.measures.jackknife import COSINE, UNIT
from bottomup.subjects.batches import states
from bottomup.subjects.words import held_out, stands_for_word
from bottomup.views.values import require_finite, standardized

if TYPE_CHECKING:
    from bottomup.subjects.seen import Seen

log = logging.getLogger(__name__)

SHORTEST, LONGEST = 5, 50  # words of a sentence
# Sentences to train, and as many to test, for a probe to have values: with fewer, `PENALTY` leaves
# little of B.
NEEDED = 100
# The loss of a distance is its error, in edges; below this, the squared error, so that it has a
# slope everywhere.
SMOOTH = 0.25
# What the trace of M costs beside the errors of all sentences, in edges (docs/decisions.md).
PENALTY = 30.0
# The largest slope left, of the loss in edges per sentence.
SLOPE = 1e-3
MAX_STEPS = 500
HISTORY = 20  # steps that L-BFGS remembers, each as large as B
KEPT = 0.99  # share of the UUAS that the effective rank keeps
PUNCTUATION = "punct"
# The range of each metric; the others are shares.
RANGES = {"distance_spearman": COSINE, "depth_spearman": COSINE}
METRICS = ("uuas", "distance_spearman", "root_accuracy", "depth_spearman")
RANK = "rank"


@dataclass(frozen=True)
class Trees:
    """The trees of sentences of one length.

    rows: those of their words in a view, `[n, length]`. distances, depths: in edges, `[n, length,
    length]` and `[n, length]`. counted: which words are no punctuation, bool `[n, length]`. edges:
    between which of these there is one, bool `[n, length, length]`. blocks: of documents, `[n]`.
    """

    rows: np.ndarray
    distances: np.ndarray
    depths: np.ndarray
    counted: np.ndarray
    edges: np.ndarray
    blocks: np.ndarray


def drawn(
    annotation: pd.DataFrame, blocks: np.ndarray, n: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sentences to train on and others to test on, at most `n` of each.

    They have `SHORTEST` to `LONGEST` words and one root. Those to train are from one half of the
    blocks of documents, drawn, and those to test from the other.

    annotation: columns sentence, word and head. blocks: of each sentence of the text.
    """
    words = np.bincount(annotation["sentence"], minlength=len(blocks))
    of_roots = annotation.loc[annotation["head"] == annotation["word"], "sentence"]
    roots = np.bincount(of_roots, minlength=len(blocks))
    fitting = np.flatnonzero((words >= SHORTEST) & (words <= LONGEST) & (roots == 1))
    random, count = generator(seed, "structural probe"), jackknife.n_blocks(blocks)
    trains = random.permutation(count) < count // 2
    order = random.permutation(fitting)
    to_train = trains[blocks[order]]
    return order[to_train][:n], order[~to_train][:n]


def read(
    seen: "Seen", annotation: pd.DataFrame, blocks: np.ndarray, n: int, seed: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The representations of all words of drawn sentences, as from `states`, and the sentences that
    they are of, in this order: those to train on and those to test on.

    seen: of a table that reads `held_out`. Sentences of which the subject does not read all words
    are left out; the rest as in `drawn`.
    """
    text, parts = read_of(seen, annotation, blocks, n, seed)
    stands = stands_for_word(text, seen.subject.backward)
    views = states(seen.subject.on(best_device()), text, stands, seen.batch_tokens)
    return views, parts


def read_of(
    seen: "Seen", annotation: pd.DataFrame, blocks: np.ndarray, n: int, seed: int
) -> tuple[TokenFile, list[np.ndarray]]:
    """The sentences of `read` as the subject reads them, and their numbers."""
    parts = drawn(annotation, blocks, n, seed)
    sentences = np.concatenate(parts)
    text = held_out(seen, sentences)
    whole = read_whole(text, annotation, sentences)
    log.info("%d of %d sentences are read word by word", whole.sum(), len(whole))
    kept = np.split(whole, [len(parts[0])])
    numbers = [some[of] for some, of in zip(parts, kept, strict=True)]
    return text.select(np.flatnonzero(whole)), numbers


def read_whole(text: TokenFile, annotation: pd.DataFrame, sentences: np.ndarray) -> np.ndarray:
    """Which sentences have all their words in what a subject reads, bool `[n]`.

    text: the sentences as it reads them. sentences: their numbers in the annotation.
    """
    of_ends = text.sentences[stands_for_word(text, False)]
    words = np.bincount(annotation["sentence"], minlength=sentences.max(initial=0) + 1)
    return np.bincount(of_ends, minlength=len(text)) == words[sentences]


def trees(
    annotation: pd.DataFrame, sentences: np.ndarray, blocks: np.ndarray, first: int = 0
) -> list[Trees]:
    """The trees of some sentences, those of one length together.

    annotation: columns sentence, head and relation, in order of the text. sentences: their
    numbers, in the order of a view; `first` is the row of its first word. blocks: of each sentence
    of the text.
    """
    starts, ends = (
        np.searchsorted(annotation["sentence"], sentences, side) for side in ("left", "right")
    )
    heads = annotation["head"].to_numpy()
    counted = (annotation["relation"] != PUNCTUATION).to_numpy()
    lengths = ends - starts
    rows = first + np.cumsum(lengths) - lengths
    by_length = []
    for length in np.unique(lengths):
        of = np.flatnonzero(lengths == length)
        words = starts[of][:, None] + np.arange(length)
        distances, depths, edges = in_edges(heads[words])
        included = counted[words]
        edges &= included[:, :, None] & included[:, None, :]
        in_view = rows[of][:, None] + np.arange(length)
        by_length.append(Trees(in_view, distances, depths, included, edges, blocks[sentences[of]]))
    return by_length


def in_edges(heads: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distances `[n, length, length]` and depths `[n, length]` of the words of trees, in edges; and
    which two have an edge between them, bool `[n, length, length]`.

    heads: the place of each word's head in its sentence, its own for the root, `[n, length]`.
    """
    length = heads.shape[1]
    above, reached = np.zeros((*heads.shape, length)), np.tile(np.arange(length), (len(heads), 1))
    for _ in range(length):  # the word, its head, the head of that, ...
        np.put_along_axis(above, reached[..., None], 1, axis=2)
        reached = np.take_along_axis(heads, reached, axis=1)
    depths = above.sum(2) - 1
    common = above @ above.swapaxes(1, 2)  # a word is above itself, and the root above all
    distances = depths[:, :, None] + depths[:, None, :] + 2 - 2 * common
    return distances, depths, distances == 1


def squared_distances(words: Tensor) -> Tensor:
    """The squared distance of each two words of a sentence: `[n, length, d]` to
    `[n, length, length]`."""
    squares = words.square().sum(-1)
    return squares[..., :, None] + squares[..., None, :] - 2 * words @ words.mT


def squared_lengths(words: Tensor) -> Tensor:
    """The squared length of each word: `[n, length, d]` to `[n, length]`."""
    return words.square().sum(-1)


def fit(
    view: Tensor,
    rows: Sequence[Tensor],
    targets: Sequence[Tensor],
    predicted: Callable[[Tensor], Tensor],
    start: Tensor | None = None,
) -> Tensor:
    """B `[d, d]`: the map of least loss.

    The loss of a sentence is the mean error of what is predicted, in edges, over the pairs of its
    words, or over its words; that of B is their sum over sentences and `PENALTY` times the squared
    numbers of B, the trace of M.

    view: `[n_words, d]`. rows, targets: for the sentences of each length their words in the view
    `[n, length]`, and what to predict of them. predicted: `squared_distances` or `squared_lengths`.
    start: by default the identity, times a number for which distances, or depths, are right on
    average.
    """
    words = [view[some] for some in rows]
    n = sum(len(some) for some in rows)
    if start is None:
        start = torch.eye(view.shape[1], dtype=view.dtype, device=view.device)
        right, initial = (
            sum(float(some.sum()) for some in of) for of in (targets, map(predicted, words))
        )
        start = start * (right / initial) ** 0.5 if initial > 0 else start
    b = start.clone().requires_grad_()

    def closure() -> float:
        optimizer.zero_grad()
        loss = PENALTY * b.square().sum()
        for some, right in zip(words, targets, strict=True):
            wrong = functional.huber_loss(
                predicted(some @ b.T), right, reduction="sum", delta=SMOOTH
            )
            loss = loss + wrong * (len(right) / right.numel() / SMOOTH)
        loss = loss / n
        loss.backward()
        return float(loss.detach())

    steps = {"max_iter": MAX_STEPS, "history_size": HISTORY, "tolerance_change": 0}
    optimizer = LBFGS([b], **steps, tolerance_grad=SLOPE, line_search_fn="strong_wolfe")
    optimizer.step(closure)
    return b.detach()


def spanning_trees(distances: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """The edges of least total distance that join all words that count, by Prim's algorithm: bool
    `[n, length, length]`, symmetric. Of equally near words it takes the first in a random order,
    since the order of the text would prefer the trees of some languages.

    distances: `[n, length, length]`. counted: bool `[n, length]`.
    """
    order = _drawn_order(counted.shape[1])
    edges = _spanning_trees(distances[:, order[:, None], order], counted[:, order])
    places = np.argsort(order)
    return edges[:, places[:, None], places]


def _drawn_order(length: int) -> np.ndarray:
    """An order of words that no language has, `[length]`, always the same."""
    return generator(length, "order of words").permutation(length)


def _spanning_trees(distances: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """As `spanning_trees`, but with the first of equally near words."""
    each, edges = np.arange(len(counted)), np.zeros(distances.shape, dtype=bool)
    start = counted.argmax(1)
    joined = ~counted  # words that do not count pass as joined, so none is taken
    joined[each, start] = True
    near, to = distances[each, start], np.tile(start[:, None], counted.shape[1])
    for _ in range(counted.sum(1).max(initial=1) - 1):
        away = np.where(joined, np.inf, near)
        new = away.argmin(1)
        grown = np.isfinite(away[each, new])  # other sentences have all their words joined
        edges[each[grown], new[grown], to[each, new][grown]] = True
        joined[each, new] = True
        nearer = distances[each, new] < near
        near, to = np.where(nearer, distances[each, new], near), np.where(nearer, new[:, None], to)
    return edges | edges.swapaxes(1, 2)


def correlations(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spearman's correlation over the last axis, `[..., n]` to `[...]`, -1 to 1; 0 where all `x`
    are equal, as they then say nothing. No `y` may be all equal."""
    ranks = [rankdata(some, axis=-1) for some in (x, y)]
    a, b = (some - some.mean(-1, keepdims=True) for some in ranks)
    size = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    return np.divide((a * b).sum(-1), size, out=np.zeros_like(size), where=size > 0)


def hits(distances: Sequence[np.ndarray], parses: Sequence[Trees]) -> list[np.ndarray]:
    """How many edges of each tree are in the spanning tree of predicted distances, `[n]` for each
    length."""
    pairs = zip(distances, parses, strict=True)
    return [(spanning_trees(d, one.counted) & one.edges).sum((1, 2)) // 2 for d, one in pairs]


def uuas(recovered: Sequence[np.ndarray], parses: Sequence[Trees], count: int) -> np.ndarray:
    """The share of edges that are recovered, with all blocks, then without each, `[1 + count]`;
    recovered: as from `hits`."""
    of_blocks = edges_of_blocks(parses, count)
    edges = jackknife.sums(of_blocks, np.arange(count), count)
    blocks = np.concatenate([one.blocks for one in parses])
    return jackknife.ratio(jackknife.sums(np.concatenate(recovered), blocks, count), edges)


def edges_of_blocks(parses: Sequence[Trees], count: int) -> np.ndarray:
    """How many edges the trees of each block have, `[count]`: the cases of which `uuas` is a
    share."""
    edges = np.concatenate([one.edges.sum((1, 2)) // 2 for one in parses])
    return np.bincount(np.concatenate([one.blocks for one in parses]), edges, minlength=count)


def measured(
    distances: Sequence[np.ndarray],
    depths: Sequence[np.ndarray],
    parses: Sequence[Trees],
    count: int,
) -> dict[str, np.ndarray]:
    """By metric of `METRICS`, its value with all blocks, then without each, `[1 + count]`.

    distances, depths: what is predicted of each length, in any unit.
    """
    roots, of_distances, of_depths = [], [], []
    for distance, depth, one in zip(distances, depths, parses, strict=True):
        order = _drawn_order(depth.shape[1])  # decides between equally low words
        least = order[np.where(one.counted, depth, np.inf)[:, order].argmin(1)]
        roots.append(np.take_along_axis(one.depths, least[:, None], 1)[:, 0] == 0)
        of_distances.append(correlations(distance, one.distances).mean(1))
        of_depths.append(correlations(depth, one.depths))
    blocks = np.concatenate([one.blocks for one in parses])
    return {
        "uuas": uuas(hits(distances, parses), parses, count),
        "distance_spearman": _over_lengths(of_distances, parses, count),
        "root_accuracy": jackknife.means(np.concatenate(roots), blocks, count),
        "depth_spearman": _over_lengths(of_depths, parses, count),
    }


def _over_lengths(values: Sequence[np.ndarray], parses: Sequence[Trees], count: int) -> np.ndarray:
    """The mean over lengths of the mean over sentences of one length, as published: `[1 + count]`.

    A length that only one block has is left out with it.
    """
    means = [
        jackknife.means(some, one.blocks, count) for some, one in zip(values, parses, strict=True)
    ]
    return np.nanmean(means, axis=0)


def chain(parses: Sequence[Trees], count: int) -> dict[str, float]:
    """By metric, the score of a tree in which each word depends on the one before it."""
    places = [np.tile(np.arange(one.rows.shape[1]), (len(one.rows), 1)) for one in parses]
    apart = [np.abs(some[:, :, None] - some[:, None, :]) for some in places]
    return {name: float(of[0]) for name, of in measured(apart, places, parses, count).items()}


def with_others(parses: Sequence[Trees]) -> list[Trees]:
    """The sentences whose length another one has: only of these is there a control."""
    return [one for one in parses if len(one.rows) > 1]


def permuted(parses: Sequence[Trees], count: int, seed: int) -> dict[str, float]:
    """By metric, the score of the tree of another sentence, drawn among those of the same length;
    parses: as from `with_others`."""
    random, distances, depths = generator(seed, "permuted trees"), [], []
    for one in parses:
        order = random.permutation(len(one.rows))
        others = np.empty_like(order)
        others[order] = np.roll(order, 1)  # so that none keeps its own tree
        distances.append(one.distances[others])
        depths.append(one.depths[others])
    scores = measured(distances, depths, parses, count)
    return {name: float(of[0]) for name, of in scores.items()}


def effective_rank(words: Sequence[np.ndarray], parses: Sequence[Trees], whole: int) -> int:
    """The least number of dimensions that find `KEPT` of the edges that all find.

    words: of each length, in the axes of M, the one of the largest eigenvalue first, `[n, length,
    d]`. whole: how many edges all find.
    """
    distances = [np.zeros(one.distances.shape) for one in parses]
    for k in range(words[0].shape[-1]):
        for distance, some in zip(distances, words, strict=True):
            distance += np.square(some[:, :, None, k] - some[:, None, :, k])
        if sum(of.sum() for of in hits(distances, parses)) >= KEPT * whole:
            break
    return k + 1


def structural_probe(
    views: np.ndarray,
    to_train: Sequence[Trees],
    to_test: Sequence[Trees],
    count: int,
    seed: int,
    device: torch.device | str | None = None,
) -> Iterator[dict]:
    """Rows of `structural_probe.csv`, see docs/tables.md.

    views: `[layers + 1, n_words, d]`. count: the number of blocks. seed: of the permutation.
    device: the first GPU by default.

    Neurons are standardized. For depths there is one more, which is always 1, so that a depth may
    be counted from any point, and not only from where all neurons are 0.
    """
    to_test = with_others(to_test)
    n_train, n = (sum(len(one.rows) for one in of) for of in (to_train, to_test))
    enough = min(n_train, n) >= NEEDED
    sizes = {"n": n if enough else min(n_train, n), "n_needed": NEEDED}
    nothing = dict.fromkeys(METRICS, np.nan)
    apart = chain(to_test, count) if enough else nothing
    mixed = permuted(to_test, count, seed) if enough else nothing
    for layer, view in enumerate(views):
        estimates = dict.fromkeys([*METRICS, RANK], jackknife.given(np.nan))
        if enough:
            estimates = _of_layer(view, to_train, to_test, count, device)
        for metric, estimate in estimates.items():
            controls = {"chain": apart.get(metric, np.nan), "permuted": mixed.get(metric, np.nan)}
            yield {"layer": layer, "metric": metric, **estimate, **controls, **sizes}


def _of_layer(
    view: np.ndarray,
    to_train: Sequence[Trees],
    to_test: Sequence[Trees],
    count: int,
    device: torch.device | str | None,
) -> dict[str, dict]:
    """By metric the columns of its estimate."""
    require_finite(view, "the structural probe")
    rows = np.concatenate([one.rows.ravel() for one in to_train])
    of_words = torch.from_numpy(standardized(view, rows)).to(device or best_device())
    with_one = torch.cat([of_words, torch.ones_like(of_words[:, :1])], dim=1)
    words = _mapped(of_words, to_train, to_test, "distances", squared_distances)
    distances = [squared_distances(some).double().cpu().numpy() for some in words]
    depths = [
        squared_lengths(some).double().cpu().numpy()
        for some in _mapped(with_one, to_train, to_test, "depths", squared_lengths)
    ]
    scores = measured(distances, depths, to_test, count)
    blocks = np.concatenate([one.blocks for one in to_test])
    cases = {
        "uuas": edges_of_blocks(to_test, count),
        "root_accuracy": jackknife.cases_of(blocks, count),
    }
    whole = sum(of.sum() for of in hits(distances, to_test))
    rank = effective_rank([some.double().cpu().numpy() for some in words], to_test, whole)
    return {
        metric: jackknife.estimate(
            "value", of[0], of[1:], RANGES.get(metric, UNIT), cases.get(metric)
        )
        for metric, of in scores.items()
    } | {RANK: jackknife.given(rank)}


def _mapped(
    view: Tensor,
    to_train: Sequence[Trees],
    to_test: Sequence[Trees],
    target: str,
    predicted: Callable[[Tensor], Tensor],
) -> list[Tensor]:
    """The words to test under the map that was fitted, of each length, in the axes of M."""

    def rows(of: Sequence[Trees]) -> list[Tensor]:
        return [torch.from_numpy(one.rows).to(view.device) for one in of]

    right = [torch.from_numpy(getattr(one, target)).to(view) for one in to_train]
    fitted = fit(view, rows(to_train), right, predicted)
    _, sizes, axes = torch.linalg.svd(fitted)
    mapped = view @ axes.T * sizes
    return [mapped[some] for some in rows(to_test)]
