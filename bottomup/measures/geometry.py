"""How the representations of a layer lie in space: four measures of a layer that need no labels.

    matrix_entropy       of a sentence: the entropy of the eigenvalues of its tokens' Gram matrix,
                         as shares of their sum, over the log of the number of tokens. 0: all
                         tokens lie on one line through 0; 1: all are orthogonal and of one length.
    curvature_degrees    of a sentence: the mean angle between the step from one token to the next
                         and the step after it.
    intrinsic_dimension  TwoNN: from the ratio of the distances of each point to its two nearest.
    effective_rank       RankMe: exp of the entropy of the singular values, as shares of their sum,
                         of representations less their mean.

Sources: Skean et al. 2025 (ICML, arXiv 2502.02013), with alpha 1; Hosseini and Fedorenko 2023
(NeurIPS); Facco et al. 2017 (Scientific Reports 7); Garrido et al. 2023 (ICML).

Curvature is in degrees: 0 for a straight line, 90 for a walk of unrelated steps, 120 for unrelated
tokens, and 180 for a way straight back.

The public code of the first (OFSkean/information_flow) computes something else than its formulas:
from tokens the mean of their sentence is subtracted, and they are scaled to length 1; negative
entries of the Gram matrix are 0; and curvature is the angle between two such tokens, not between
two steps. Here the formulas count.

Each value has a null. For the first two, tokens are dealt out to the sentences at random, so it has
nothing of which tokens share a sentence, nor of their order. For the other two, each neuron is
permuted over the occurrences by itself: it keeps its values, and has nothing to do with the others.
(The other usual null, normal numbers, has an effective rank near d_model whatever the layer is.)
"""

import logging
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.special import entr

from bottomup.core.seeds import generator
from bottomup.measures import jackknife
from bottomup.measures.jackknife import Range
from bottomup.views.draws import among
from bottomup.views.values import checked, mean_and_deviation

# The share of ratios that TwoNN fits; the largest tenth is left out, as by Facco et al.
FITTED = 0.9
# Points that differ by no more than this share of how much their neurons vary count as one. (Or by
# the rounding of their number format, if that is more.) The same sentence differs by so much
# between batches.
SAME = 1e-5
# Occurrences that an effective rank needs for each neuron, as a distance by PWCCA does; and what
# the others need. The relative error of a dimension of 100 points is about a tenth.
ROWS_PER_NEURON = 4
NEEDED = {"matrix_entropy": 1, "curvature_degrees": 1, "intrinsic_dimension": 100}
RANGES = {
    "matrix_entropy": jackknife.UNIT,
    "curvature_degrees": Range(0, 180),
    "intrinsic_dimension": jackknife.NOT_NEGATIVE,
}

log = logging.getLogger(__name__)


def geometry(
    views: np.ndarray | Sequence[np.ndarray],
    sentences: np.ndarray,
    blocks: np.ndarray,
    points: int,
    seed: int,
    seen: np.ndarray | None = None,
) -> Iterator[dict]:
    """Rows of `geometry.csv`, see docs/tables.md.

    views: `[n_occurrences, d_model]` for each layer, layer 0 first. sentences, blocks: those of
    each occurrence, `[n_occurrences]`; the occurrences of a sentence stand side by side, in their
    order. points: occurrences drawn for the dimension, all where there are fewer. seed: of their
    draw and of the nulls, which are the same at all layers. seen: of all occurrences that a study
    draws from, which these are, see `views.draws`; all by default.

    Memory holds two copies of a view in float64, and two arrays of `points` squared.
    """
    count = jackknife.n_blocks(blocks)
    seen = np.full(len(sentences), True) if seen is None else seen
    dealt, order = (
        among(seen, generator(seed, "geometry", name).permutation(len(seen)))
        for name in ("dealt", "points")
    )
    drawn = np.sort(order[:points])

    def measured(texts: np.ndarray, cloud: np.ndarray) -> dict[str, tuple[np.ndarray, int]]:
        return {
            "matrix_entropy": _of_sentences(matrix_entropy, texts, sentences, blocks, count),
            "curvature_degrees": _of_sentences(curvature, texts, sentences, blocks, count),
            "intrinsic_dimension": intrinsic_dimensions(cloud[drawn], blocks[drawn], count),
            "effective_rank": effective_ranks(cloud, blocks, count),
        }

    for layer, view in enumerate(views):
        view = checked(view, "geometry", sentences=sentences, blocks=blocks)
        unrelated = generator(seed, "geometry", "unrelated").permuted(view.T, axis=1).T
        null = measured(view[dealt], unrelated)
        needed = NEEDED | {"effective_rank": ROWS_PER_NEURON * view.shape[1]}
        ranges = RANGES | {"effective_rank": Range(1, view.shape[1])}
        for measure, (values, n_found) in measured(view, view).items():
            known = n_found >= needed[measure] and np.isfinite(values[0])
            if not known:
                log.warning(
                    f"layer {layer}: no {measure} of {n_found:,} cases; {needed[measure]:,} that "
                    "differ are needed"
                )
                values = np.full_like(values, np.nan)
            yield {
                **{"layer": layer, "measure": measure},
                **jackknife.estimate("value", values[0], values[1:], ranges[measure]),
                "null": float(null[measure][0][0]) if known else np.nan,
                **{"n": n_found, "n_needed": needed[measure]},
            }


def matrix_entropy(tokens: np.ndarray) -> float:
    """The matrix entropy of a sentence `[n, d]`: 0 to 1, or to log d / log n if it has more tokens
    than neurons.

    NaN for a single token, and where all are 0.
    """
    wide = tokens.shape[0] < tokens.shape[1]
    gram = tokens @ tokens.T if wide else tokens.T @ tokens  # with the same eigenvalues but for 0s
    entropy = _entropy(np.linalg.eigvalsh(gram).clip(0))
    return float(entropy / np.log(len(tokens))) if len(tokens) > 1 else np.nan


def curvature(tokens: np.ndarray) -> float:
    """The mean angle between steps that follow one another in a sentence `[n, d]`, 0 to 180.

    A step of length 0 has no angle. NaN without any angle.
    """
    steps = np.diff(tokens, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    products, scales = (steps[1:] * steps[:-1]).sum(1), lengths[1:] * lengths[:-1]
    cosines = products[scales > 0] / scales[scales > 0]
    return float(np.degrees(np.arccos(cosines.clip(-1, 1))).mean()) if len(cosines) else np.nan


def intrinsic_dimensions(
    points: np.ndarray, blocks: np.ndarray, count: int
) -> tuple[np.ndarray, int]:
    """TwoNN of points `[n, d]` with all blocks, then without each, `[1 + count]`, and how many of
    them are distinct, see `SAME`.

    NaN for fewer than three, and where most have their two nearest at one distance.
    """
    squares, seen_before = _squared_distances(points), _seen_before(points)
    squares, blocks = squares[~seen_before][:, ~seen_before], blocks[~seen_before]
    nearest = np.concatenate(  # the two nearest of each block
        [_nearest_two(squares[:, blocks == block]) for block in range(count)], axis=1
    )
    values = [_two_nn(_nearest_two(nearest))]
    for block in range(count):
        others = np.delete(nearest, [2 * block, 2 * block + 1], axis=1)
        values.append(_two_nn(_nearest_two(others[blocks != block])))
    return np.array(values), len(squares)


def effective_ranks(view: np.ndarray, blocks: np.ndarray, count: int) -> tuple[np.ndarray, int]:
    """RankMe of a view `[n, d]` less its mean, with all blocks, then without each, `[1 + count]`;
    and n.

    1 to the smaller of n - 1 and d; NaN for a view that is the same at all occurrences. Eigenvalues
    of the neurons' scatter matrix are the squares of singular values.
    """
    rows = view.astype(np.float64)
    rows -= rows.mean(0)
    of_blocks = [rows[blocks == block] for block in range(count)]
    products = np.stack([some.T @ some for some in of_blocks])
    sums = np.stack([some.sum(0) for some in of_blocks])
    sizes = jackknife.cases_of(blocks, count)
    every = np.arange(count)
    products, sums, sizes = (jackknife.sums(x, every, count) for x in (products, sums, sizes))
    about_mean = products - sums[:, :, None] * sums[:, None] / sizes.clip(1)[:, None, None]
    values = np.linalg.eigvalsh(about_mean).clip(0)
    return np.exp(_entropy(np.sqrt(values))), len(view)


def _of_sentences(
    measure: Callable[[np.ndarray], float],
    view: np.ndarray,
    sentences: np.ndarray,
    blocks: np.ndarray,
    count: int,
) -> tuple[np.ndarray, int]:
    """The mean of a measure over sentences for which it is defined, with all blocks and then
    without each, `[1 + count]`, and how many these are."""
    starts = np.flatnonzero(np.diff(sentences, prepend=sentences[0] - 1))
    texts = np.split(view, starts[1:])
    values = np.array([measure(tokens.astype(np.float64)) for tokens in texts])
    known, of_block = np.isfinite(values), blocks[starts]
    totals = jackknife.sums(np.where(known, values, 0), of_block, count)
    return jackknife.ratio(totals, jackknife.sums(known, of_block, count)), int(known.sum())


def _entropy(values: np.ndarray) -> np.ndarray:
    """The entropy in nats of values `[..., k]` as shares of their sum: `[...]`, NaN where that is
    0."""
    with np.errstate(invalid="ignore"):
        shares = values / values.sum(-1, keepdims=True)
    return entr(shares).sum(-1)


def _squared_distances(points: np.ndarray) -> np.ndarray:
    """Squared distances between points `[n, d]`: float64 `[n, n]`, infinite from each to itself."""
    rows = points.astype(np.float64)
    rows -= rows.mean(0)
    squares = np.square(rows).sum(1)
    squared = (squares[:, None] + squares - 2 * rows @ rows.T).clip(0)
    np.fill_diagonal(squared, np.inf)
    return squared


def _seen_before(points: np.ndarray) -> np.ndarray:
    """Whether an earlier one of the points `[n, d]` is the same, each neuron by its own noise; see
    `SAME`: `[n]`."""
    rounding = np.finfo(np.result_type(points, np.float16)).eps
    if points.dtype != np.float16:  # computed in it, with more than one rounding
        rounding *= 32
    rows = points.astype(np.float64)
    mean, deviation = mean_and_deviation(rows)
    size = np.hypot(mean, deviation)
    squares = _squared_distances(rows / np.maximum(SAME * deviation, rounding * size))
    lengths = np.square(rows / size).sum(1)  # about d
    return np.tril(squares <= lengths[:, None], k=-1).any(axis=1)


def _nearest_two(squares: np.ndarray) -> np.ndarray:
    """The two smallest of each row `[n, k]`, the smaller first: `[n, 2]`, infinite where k is too
    small."""
    padded = np.pad(squares, ((0, 0), (0, 2)), constant_values=np.inf)
    return np.partition(padded, (0, 1), axis=1)[:, :2]


def _two_nn(squares: np.ndarray) -> float:
    """The slope, through 0, of -log(1 - F) over the log of the ratio of the two distances, where F
    is the empirical distribution of the ratios: Facco et al. 2017.

    squares: the two squared distances of each point, `[n, 2]`.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.sort(np.log(squares[:, 1] / squares[:, 0]) / 2)
        fitted = ratios[: int(FITTED * len(ratios))]
        expected = -np.log1p(-np.arange(1, len(fitted) + 1) / len(ratios))
        return float((fitted @ expected) / (fitted @ fitted))
