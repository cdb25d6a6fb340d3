"""Nearest neighbors among representations, and what they have in common.

As in the evolution paper (Voita et al. EMNLP 2019, on what the tokens closest in representation
share). Among occurrences of many tokens: the share of an occurrence's neighbors that are the same
token. Among occurrences of one token: how far apart in position they are, and the share with the
same left token, right token, CCG category, and left or right part of the category.

The values depend on the set that neighbors come from: the more occurrences, the nearer the nearest.
So the set is drawn once for all layers and runs, with the same number of each token, and `chance`
says what neighbors drawn from it at random would give. (If a run does not see an occurrence, the
next one of the draw takes its place.) For the same reason, when a block of documents is left out,
the rest of each token weighs as much as all of it did. Otherwise a token that is mostly in one
block would have fewer neighbors of its kind without it than in any text.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import embedding, pad

from bottomup.core.device import device as best_device
from bottomup.core.errors import UserError
from bottomup.core.files.joins import require_equal_lengths
from bottomup.core.seeds import generator
from bottomup.corpus.specials import N_SPECIAL
from bottomup.measures import jackknife
from bottomup.measures.jackknife import NOT_NEGATIVE, UNIT
from bottomup.measures.null import PERMUTED, Permutations, Permuted
from bottomup.views.draws import places, there
from bottomup.views.values import checked, shaped

METRICS = ("cosine", "euclidean")
# Distances to compute at once: few enough for a cache, but at least so many rows, which make a
# matrix product fast.
BLOCK_CELLS, BLOCK_ROWS = 2**21, 256
# Columns that share a minimum, to look for the least distances in few of them.
GROUP_COLUMNS = 8
# How far rounding moves a product of two rows, in units of sqrt(d_model) times its last digit: one
# in 10^7 is moved farther (Higham and Mary 2019, "A New Approach to Probabilistic Rounding Error
# Analysis", theorem 2.4).
MOVED = 6
# How far rounding may move a squared distance, as a share of it; it nearly always moves it by a
# thirtieth of that.
MOVED_SHARE = 1e-3
# Weights of neighbors, without each block, to use at once: few enough for a cache.
WEIGHT_CELLS = 2**19
# By property within one token: the column of the table that compares neighbors.
CONTEXT = {"position": "position", "left_token": "left_id", "right_token": "right_id"}
CCG = {"ccg": "ccg", "ccg_left": "ccg_left", "ccg_right": "ccg_right"}
# A token is ambiguous if two of its occurrences have the same CCG category less often than this.
AMBIGUOUS = 0.5


@dataclass(frozen=True)
class Sample:
    """Groups of occurrences; neighbors come from the same group.

    rows: of a view, `[n_groups, n]`, in random order, so that chance decides between equally near
    neighbors. values: by property, the value of each occurrence that is compared `[n_groups, n]`.
    tokens: the token of each occurrence `[n_groups, n]`.
    """

    rows: np.ndarray
    values: dict[str, np.ndarray]
    tokens: np.ndarray

    @property
    def n_tokens(self) -> int:
        return len(np.unique(self.tokens))


def among_tokens(occurrences: pd.DataFrame, n_tokens: int, n_each: int, seed: int) -> Sample:
    """One group of `n_each` occurrences of each of the `n_tokens` most frequent tokens.

    occurrences: columns input_id and rank; also of those that are not seen, see `views.draws`.
    Tokens with fewer than `n_each` that are seen are skipped; if fewer than `n_tokens` are left,
    all of them are taken. Raises UserError for fewer than two.
    """
    kept = np.ones(len(occurrences), dtype=bool)
    drawn = _draw(occurrences, kept, "tokens", n_tokens, n_each, "occurrences", seed)
    rows = generator(seed, "neighbors", "order").permutation(drawn.ravel())[None]
    tokens = occurrences["input_id"].to_numpy()[rows]
    return Sample(places(there(occurrences), rows), {"token": tokens}, tokens)


def within_tokens(occurrences: pd.DataFrame, n_tokens: int, n_each: int, seed: int) -> Sample:
    """A group of `n_each` occurrences for each of the `n_tokens` most frequent tokens.

    As `among_tokens`; occurrences also has stands_for_word and the columns in `CONTEXT`. Only
    tokens that stand for their word are drawn.
    """
    kept = occurrences["stands_for_word"].to_numpy()
    return _within(occurrences, kept, "tokens", CONTEXT, n_tokens, n_each, seed)


def within_ambiguous_tokens(
    occurrences: pd.DataFrame, n_tokens: int, n_each: int, seed: int
) -> Sample:
    """As `within_tokens`, for tokens with several CCG categories; columns as in `CCG`.

    If a token nearly always has one category, its neighbors share it in any view.
    """
    stands = occurrences["stands_for_word"].to_numpy()
    counts = occurrences[stands].value_counts(["input_id", "ccg"])
    pairs = (counts * (counts - 1)).groupby("input_id").sum()
    totals = counts.groupby("input_id").sum()
    same = pairs / (totals * (totals - 1))
    kept = stands & occurrences["input_id"].isin(same.index[same < AMBIGUOUS]).to_numpy()
    return _within(occurrences, kept, "ambiguous tokens", CCG, n_tokens, n_each, seed)


def _within(
    occurrences: pd.DataFrame,
    kept: np.ndarray,
    kind: str,
    properties: dict[str, str],
    n_tokens: int,
    n_each: int,
    seed: int,
) -> Sample:
    rows = _draw(occurrences, kept, kind, n_tokens, n_each, "within_occurrences", seed)
    values = {}
    for name, column in properties.items():
        whole = occurrences[column]
        numbers = whole.to_numpy(np.int64) if name == "position" else pd.factorize(whole)[0]
        values[name] = numbers[rows]
    tokens = occurrences["input_id"].to_numpy()[rows]
    return Sample(places(there(occurrences), rows), values, tokens)


def _draw(
    occurrences: pd.DataFrame,
    kept: np.ndarray,
    kind: str,
    n_tokens: int,
    n_each: int,
    key: str,
    seed: int,
) -> np.ndarray:
    """Rows `[<= n_tokens, n_each]` of the most frequent tokens of the training text, a line each:
    those of the table, all seen.

    kept: the occurrences to draw from, `[n_occurrences]`; kind, key: words for errors.
    """
    ids = occurrences["input_id"].to_numpy()
    rows = np.flatnonzero(kept & (ids >= N_SPECIAL))
    rows = generator(seed, "neighbors", key).permutation(rows)
    rows = rows[there(occurrences)[rows]]
    tokens, first, counts = np.unique(ids[rows], return_index=True, return_counts=True)
    ranks = occurrences["rank"].to_numpy()[rows[first]]
    enough = counts >= n_each
    chosen = tokens[enough][np.argsort(ranks[enough])][:n_tokens]
    if len(chosen) < min(n_tokens, 2):
        raise UserError(
            f"{len(chosen)} {kind} have the {n_each} occurrences of measures.neighbors.{key}; "
            f"allowed: at least 2; lower {key}, or raise corpus.splits.test_words and occurrences.n"
        )
    return np.stack([rows[ids[rows] == token][:n_each] for token in chosen])


def measure(
    view: np.ndarray,
    sample: Sample,
    k: int,
    device: torch.device | str | None = None,
    metric: str = "cosine",
) -> dict[str, np.ndarray]:
    """What each occurrence has in common with its `k` nearest neighbors, by property.

    view: `[n_occurrences, d_model]`. Returns float64 `[n_groups, n]` for each property: the share
    of neighbors with the same value, 0 to 1, or for `position` the mean distance in tokens.
    """
    neighbors = [nearest(view[rows], k, device, metric) for rows in sample.rows]
    return {
        name: np.stack(
            [
                _difference(name, of_group[:, None], of_group[near]).mean(1)
                for of_group, near in zip(values, neighbors, strict=True)
            ]
        )
        for name, values in sample.values.items()
    }


def estimates(
    view: np.ndarray,
    sample: Sample,
    blocks: np.ndarray,
    k: int,
    device: torch.device | str | None = None,
    metric: str = "cosine",
    permutations: Permutations | None = None,
) -> Iterator[dict]:
    """Means of `measure` over all occurrences, with 95 % intervals: a row for each property.

    blocks: the block of each row of the view, `[n_occurrences]`. Occurrences of a block that is
    left out neither have neighbors nor are neighbors: the next nearest take their places. The other
    occurrences of each token weigh as much as all of them did, in the mean and as neighbors; the
    nearest up to a weight of `k` count (Kott 2001, on strata of known size; strata are tokens).

    Rows: property, value, ci_low, ci_high, `jackknife.WITHOUT`, and with `permutations` what
    `null.calibrated` needs: neighbors have the same numbers, but the occurrences of each group are
    permuted.
    """
    require_equal_lengths(view=view, blocks=blocks)
    count = jackknife.n_blocks(blocks)
    sums, totals = np.zeros((len(sample.values), 1 + count)), np.zeros(1 + count)
    permuted = np.zeros((len(sample.values), permutations.count if permutations else 0))
    for group, rows in enumerate(sample.rows):
        values = {name: of_groups[group] for name, of_groups in sample.values.items()}
        weights = _weights(sample.tokens[group], blocks[rows], count)
        means, has_neighbor, near = _weighted(view[rows], values, weights, k, device, metric)
        sums += (means * weights * has_neighbor).sum(1)
        totals += (weights * has_neighbor).sum(0)
        if permutations:
            permuted += _permuted(values, near, permutations)
    cases = k * jackknife.cases_of(blocks[sample.rows.ravel()], count)
    for name, of_property, by_chance in zip(sample.values, sums, permuted, strict=True):
        value = of_property[0] / totals[0]
        without = np.divide(of_property, totals, where=totals > 0, out=np.full(1 + count, value))
        # Each neighbor of each occurrence is a case; a mean distance has none.
        within, of_pairs = (NOT_NEGATIVE, None) if name == "position" else (UNIT, cases)
        low, high = jackknife.interval(value, without[1:], within, of_pairs)
        row = {"property": name, "value": value, "ci_low": low, "ci_high": high}
        if permutations:
            row[PERMUTED] = Permuted(value, by_chance / totals[0], same=name != "position")
        yield {**row, jackknife.WITHOUT: without[1:]}


def _permuted(
    values: dict[str, np.ndarray], near: np.ndarray, permutations: Permutations
) -> np.ndarray:
    """Sums over occurrences of what each shares with its neighbors, `near` `[n, k]`, once their
    values are permuted: `[n_properties, count]`."""
    n, k = near.shape
    sums = np.empty((len(values), permutations.count))
    for number, order in enumerate(permutations.of(n)):
        for at, (name, of_group) in enumerate(values.items()):
            others = of_group[order]
            sums[at, number] = _difference(name, others[:, None], others[near]).sum() / k
    return sums


def _weights(tokens: np.ndarray, blocks: np.ndarray, count: int) -> np.ndarray:
    """The weight of each occurrence, with all blocks, then without each: `[n, 1 + count]`.

    With all blocks it is 1. Without a block it is 0 in that block, and elsewhere so large that each
    token weighs as much as before.
    """
    _, numbers, sizes = np.unique(tokens, return_inverse=True, return_counts=True)
    held = np.zeros((len(sizes), 1 + count))
    np.add.at(held, (numbers, 1 + blocks), 1)
    weights = (sizes[:, None] / np.maximum(sizes[:, None] - held, 1))[numbers]
    weights[np.arange(len(blocks)), 1 + blocks] = 0
    return weights


def _weighted(
    view: np.ndarray,
    values: dict[str, np.ndarray],
    weights: np.ndarray,
    k: int,
    device: torch.device | str | None,
    metric: str,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means over the nearest neighbors up to a weight of `k`, for each column of the weights.

    weights: `[n, n_columns]`. Returns the means `[n_properties, n, n_columns]`, over less than `k`
    if all others weigh less, whether an occurrence has any neighbor `[n, n_columns]`, and the
    nearest `[n, k]`.
    """
    n, n_columns = weights.shape
    of_row = torch.from_numpy(weights.astype(np.float32))
    sums, reached = np.zeros((len(values), n, n_columns)), np.zeros((n, n_columns))
    queries, length = np.arange(n), min(k + k // 2, n - 1)
    nearest_of_all: np.ndarray | None = None
    while len(queries):
        near = nearest(view, length, device, metric, queries)
        nearest_of_all = near[:, :k] if nearest_of_all is None else nearest_of_all
        at_once = 1 + WEIGHT_CELLS // (length * n_columns)
        for start in range(0, len(queries), at_once):
            rows, lines = queries[start : start + at_once], near[start : start + at_once]
            up_to = embedding(torch.from_numpy(lines), of_row).cumsum(1).clamp_(max=k)
            reached[rows] = up_to[:, -1]
            for number, (name, of_group) in enumerate(values.items()):
                shared = _difference(name, of_group[rows, None], of_group[lines])
                # The sum over neighbors of what they share times their weight, by parts.
                steps = -np.diff(shared.astype(np.float32), append=np.float32(0))
                sums[number, rows] = torch.bmm(torch.from_numpy(steps)[:, None], up_to)[:, 0]
        # A few still lack neighbors without some block, and look farther.
        short = (weights[queries] > 0) & (reached[queries] < k)
        queries = queries[short.any(1) & (length < n - 1)]
        length = min(2 * length, n - 1)
    assert nearest_of_all is not None  # there is at least one query
    return sums / np.maximum(reached, 1e-30), reached > 0, nearest_of_all


def chance(sample: Sample) -> dict[str, float]:
    """What neighbors drawn at random from the group would give, by property: expected values.

    These are exact: means over all ordered pairs of different occurrences of a group, then over
    groups.
    """
    return {
        name: float(np.mean([_over_pairs(name, of_group) for of_group in values]))
        for name, values in sample.values.items()
    }


def _difference(name: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs(a - b) if name == "position" else a == b


def _over_pairs(name: str, values: np.ndarray) -> float:
    """The mean of `_difference` over the n (n - 1) ordered pairs of `values` `[n]`."""
    n = len(values)
    if name == "position":
        # Sorted, value i is the larger of i pairs and the smaller of n - 1 - i.
        total = 2 * np.sort(values) @ (2 * np.arange(n) - n + 1)
    else:
        _, counts = np.unique(values, return_counts=True)
        total = counts @ (counts - 1)
    return float(total / (n * (n - 1)))


def nearest(
    view: np.ndarray,
    k: int,
    device: torch.device | str | None = None,
    metric: str = "cosine",
    queries: np.ndarray | None = None,
) -> np.ndarray:
    """The rows nearest to each row of a view.

    Distances are matrix products in blocks, so memory is that of the view in float64 and a block.
    They are in float32 where that tells squared distances to 1e-3 of themselves; else, as where one
    neuron is much larger than all others, in float64.

    Parameters
    ----------
    view : ndarray of shape (n, d_model)
        Representations at one layer.
    k : int
        How many neighbors to find; less than `n`.
    device : torch.device or str, optional
        Where to compute; by default the first GPU, else the CPU.
    metric : {"cosine", "euclidean"}, default="cosine"
        The distance by which rows are near. The cosine of a row of zeros with all others is 0.
    queries : ndarray of shape (n_queries,), optional
        Numbers of the rows whose neighbors are looked for; all rows by default.

    Returns
    -------
    ndarray of shape (n_queries, k), int64
        Row numbers, the nearest first. A row is never its own neighbor, however many rows equal
        it. Of equally near rows, those of lower number come first. Distances that their number
        format does not tell apart are equal; those to equal rows always are.

    Raises
    ------
    UserError
        If there are no more than `k` rows, `k` is below 1, the metric is another, queries are no
        numbers of rows, or the view holds NaN or infinity.

    Examples
    --------
    >>> import numpy as np
    >>> view = np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]])
    >>> nearest(view, k=1, device="cpu").tolist()
    [[1], [0], [3], [2]]
    """
    view = shaped(view)
    if k < 1 or metric not in METRICS:
        raise UserError(
            f"found k {k} and metric {metric!r}; allowed: k at least 1, metric "
            f"{' or '.join(METRICS)}"
        )
    if len(view) <= k:
        raise UserError(
            f"{len(view)} occurrences for measures.neighbors.k {k}; allowed: more occurrences "
            f"than neighbors; lower it, or raise measures.neighbors.occurrences and "
            f"measures.neighbors.within_occurrences"
        )
    points = _points(checked(view, "a search for neighbors"), metric)
    # Equal rows share one column of distances, or rounding could separate them.
    columns = torch.from_numpy(pd.factorize(_bytes(points.numpy()))[0])
    numbers = np.arange(len(points)) if queries is None else np.asarray(queries)
    if numbers.dtype.kind not in "iu" or not np.isin(numbers, np.arange(len(points))).all():
        raise UserError(
            f"queries of type {numbers.dtype}; allowed: numbers of rows, 0 to {len(points) - 1}"
        )
    rows = torch.from_numpy(numbers.astype(np.int64))
    device = torch.device(device or best_device())
    neighbors, unsure = _nearest(points.float().to(device), columns.to(device), k, rows)
    if unsure.any():
        if device.type == "mps":  # which has no float64
            device = torch.device("cpu")
        some = points.to(device), columns.to(device), k, rows[unsure]
        neighbors[unsure], _ = _nearest(*some)
    return neighbors.numpy()


def _nearest(points: Tensor, columns: Tensor, k: int, queries: Tensor) -> tuple[Tensor, Tensor]:
    """The rows nearest to each of the `queries`, `[n_queries, k]`, and whether rounding could move
    the distance of one of them, unless it is equal, by more than `MOVED_SHARE`, `[n_queries]`.

    columns: which of the different rows each row is, `[n]`.
    """
    first = torch.from_numpy(np.unique(columns.cpu().numpy(), return_index=True)[1])
    distinct = _with_half_norms(points[first.to(points.device)])
    block = max(BLOCK_ROWS, BLOCK_CELLS // len(points))
    # Every block is written to the same memory: fresh memory costs a quarter of the product.
    products = points.new_empty(min(block, len(queries)), distinct.shape[1])
    # The last digit of half a squared distance: a product of two rows and half a squared norm.
    digit = torch.finfo(points.dtype).eps / 2 * 3 * distinct[-1].max()
    least = MOVED * points.shape[1] ** 0.5 * digit / MOVED_SHARE
    neighbors, unsure = [], []
    for rows in queries.to(columns).split(block):
        distances = _product(pad(-points[rows], (0, 1), value=1.0), distinct, products[: len(rows)])
        if distinct.shape[1] < len(points):
            distances = distances.index_select(1, columns)
        distances.scatter_(1, rows[:, None], torch.inf)
        near = _smallest(distances, k)
        halves = distances.gather(1, near) + distinct[-1, columns[rows, None]]
        unsure.append(((halves < least) & (columns[near] != columns[rows, None])).any(1).cpu())
        neighbors.append(near.cpu())
    return torch.cat(neighbors), torch.cat(unsure)


def directions(view: np.ndarray) -> Tensor:
    """Rows of length 1, float64 `[n, d_model]`. Zero vectors share a direction of their own, one
    column more, so that their cosine with all others is 0."""
    points = torch.from_numpy(view.astype(np.float64))
    zero = ~points.any(dim=1, keepdim=True)
    if zero.any():
        points = torch.cat([points, zero], dim=1)
    return points / torch.linalg.vector_norm(points, dim=1, keepdim=True)


def _points(view: np.ndarray, metric: str) -> Tensor:
    """float64 rows `[n, d_model]` whose Euclidean distances order neighbors as the metric does.

    The squared distance of two directions is 2 - 2 cosine. A mean near 0 makes it precise.
    """
    if metric == "cosine":
        points = directions(view)
    else:
        points = torch.from_numpy(view.astype(np.float64))
        points *= 2.0 ** -np.frexp(points.abs().max().item())[1]
    points -= points.mean(0)
    return points


def _with_half_norms(points: Tensor) -> Tensor:
    """Columns `[d_model + 1, n]` whose products with a negative row and 1 order points as their
    distances from the row do: half their squared norms, less their products with the row."""
    columns = points.new_empty(points.shape[1] + 1, len(points))
    columns[:-1].copy_(points.T)
    columns[-1] = torch.linalg.vector_norm(points, dim=1).square() / 2
    return columns


def _product(rows: Tensor, columns: Tensor, out: Tensor) -> Tensor:
    """rows @ columns, written to `out`; on a CPU by NumPy, a fifth faster than PyTorch here."""
    if out.device.type != "cpu":
        return torch.mm(rows, columns, out=out)
    return torch.from_numpy(np.matmul(rows.numpy(), columns.numpy(), out=out.numpy()))


def _bytes(rows: np.ndarray) -> np.ndarray:
    """Each row's bytes, `[n]`; zeros have one sign."""
    rows = np.ascontiguousarray(rows + 0.0)
    return rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0].astype(object)


def _smallest(distances: Tensor, k: int) -> Tensor:
    """Columns of the `k` smallest of each line `[rows, > k]`, ascending; of equals the first."""
    values, columns = _least(distances, k + 1)
    # topk takes any of those equal to the k-th, and returns equals in any order.
    equal = values[:, 1:] == values[:, :-1]
    columns = columns[:, :k]
    cut, tied = equal[:, -1], equal.any(1)
    if cut.any():
        columns[cut] = _first_of_equals(distances[cut], values[cut, k - 1 : k], k)
    if tied.any():
        first = columns[tied].sort(dim=1).values
        order = distances[tied.nonzero(), first].sort(dim=1, stable=True).indices
        columns[tied] = first.gather(1, order)
    return columns


def _least(distances: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The `k` smallest of each line and their columns, as by `topk`.

    They are in the `k` groups of columns with the least minima: for any value of another group,
    these minima are `k` values at least as small.
    """
    n = distances.shape[1]
    n_groups = n // GROUP_COLUMNS
    if n_groups <= k:
        return distances.topk(k, largest=False)
    minima = distances[:, : n_groups * GROUP_COLUMNS].unflatten(1, (GROUP_COLUMNS, -1)).amin(1)
    groups = minima.topk(k, largest=False, sorted=False).indices
    members = torch.arange(0, n_groups * GROUP_COLUMNS, n_groups, device=groups.device)
    rest = torch.arange(n_groups * GROUP_COLUMNS, n, device=groups.device).expand(len(groups), -1)
    columns = torch.cat([(groups[:, None] + members[:, None]).flatten(1), rest], 1)
    values, places = distances.gather(1, columns).topk(k, largest=False)
    return values, columns.gather(1, places)


def _first_of_equals(distances: Tensor, kth: Tensor, k: int) -> Tensor:
    """All columns of each line below its k-th value, and the first of those equal to it."""
    n = distances.shape[1]
    numbers = torch.arange(n, device=distances.device).expand_as(distances)
    order = numbers.masked_fill(distances < kth, -1).masked_fill(distances > kth, n)
    return order.topk(k, largest=False).indices
