"""How much the tokens of a group change from layer to layer: Voita et al. EMNLP 2019, section 5.1.

The change is the PWCCA distance between the representations of the group's occurrences at two
consecutive layers, weighted by the lower one. The paper stops there. But what the layers of a group
share is mostly the type (token id) of each occurrence: the more types a group has, the more its
layers can share and the smaller the distance, whatever becomes of an occurrence. So there are three
distances, which the column `matching` tells apart:

published: occurrences drawn uniformly, as in the paper.
matched: the deviations of occurrences from the mean of their type, so that types tell nothing. All
    groups have the same number of degrees of freedom (occurrences less types), on which the bias of
    PWCCA depends.
ten_types: as published, with equally many occurrences of each of the ten most frequent types.
"""

import logging
from collections.abc import Iterator, Sequence
from itertools import pairwise, product

import numpy as np
import pandas as pd
import torch

from bottomup.core.files.joins import require_equal_lengths
from bottomup.core.seeds import generator
from bottomup.measures import jackknife, pwcca
from bottomup.measures.blocks import distances, measured, moments_of_blocks, row
from bottomup.measures.groups import Group, in_turns
from bottomup.views.moments import Moments, without_rounding
from bottomup.views.values import CONSTANT, shaped

KINDS = [("definition", "x")]

log = logging.getLogger(__name__)


def change(
    views: np.ndarray | Sequence[np.ndarray],
    occurrences: pd.DataFrame,
    groups: list[Group],
    n: int,
    seed: int,
) -> Iterator[dict]:
    """Rows of a table: grouping, group, matching, layer_a, layer_b, and columns of `distances`.

    views: `[n_occurrences, d_model]` for each layer, layer 0 first. occurrences: the table of their
    rows, with columns `input_id` and `block`. n: occurrences drawn from each group, the same ones
    for all layers and runs; for matched draws, their degrees of freedom (see `DRAWS`). PWCCA is
    biased downwards, the more so the fewer they are, so all groups are compared at one n, and that
    is at least what the width needs (`pwcca.rows_needed`). A group with fewer occurrences has no
    value as published, and no row otherwise.
    """
    for view in views:
        require_equal_lengths(occurrences=occurrences, view=shaped(view))
    # A multiple of ten, as there are ten types.
    n = max(n, 10 * -(-pwcca.rows_needed(views[0].shape[1], views[0].shape[1]) // 10))
    types, blocks = (occurrences[name].to_numpy() for name in ("input_id", "block"))
    draws: list[tuple[Group, str, np.ndarray | None]] = []
    for group, (matching, draw) in product(groups, DRAWS.items()):
        rows = draw(group, types, n, seed)
        if rows is not None:
            draws.append((group, matching, np.sort(rows)))
            continue
        log.info(f"{group.name} has too few occurrences for {n}: no value of {matching}")
        if matching == "published":
            draws.append((group, matching, None))
    count = jackknife.n_blocks(blocks)
    for group, matching, rows in draws:
        names = {"grouping": group.grouping, "group": group.name, "matching": matching}
        for layer, (lower, upper) in enumerate(pairwise(views)):
            if rows is None:
                columns = row(np.nan, np.full(count, np.nan), group.representatives.sum(), n)
            elif matching == "matched":
                of_rows = types[rows], blocks[rows]
                columns = within_types(lower[rows], upper[rows], *of_rows, count)
            else:
                parts = moments_of_blocks(lower[rows], upper[rows], blocks[rows], count)
                [columns] = distances(parts, KINDS)
            yield {**names, "layer_a": layer, "layer_b": layer + 1, **columns}


def published(group: Group, types: np.ndarray, n: int, seed: int) -> np.ndarray | None:
    """`n` of the group's representatives, or None if it has fewer."""
    rows = np.flatnonzero(group.representatives)
    if len(rows) < n:
        return None
    return generator(seed, "change", group.grouping, group.name).choice(rows, n, replace=False)


def matched(group: Group, types: np.ndarray, n: int, seed: int) -> np.ndarray | None:
    """As many of the group's representatives as have `n` degrees of freedom, or None.

    An occurrence adds one degree unless it is the first of its type. Types give equal shares as far
    as they can, so that a frequent type does not stand for its whole group. A type that occurs once
    tells nothing and is left out. So there are at most two occurrences for each degree of freedom.
    """
    rng = generator(seed, "change", group.grouping, group.name, "matched")
    rows = in_turns(rng.permutation(np.flatnonzero(group.representatives)), types)
    ids = pd.Series(types[rows])
    freedom = np.cumsum(ids.duplicated())
    drawn = slice(np.searchsorted(freedom, n) + 1)
    if ids[drawn].duplicated().sum() < n:
        return None
    return rows[drawn][ids[drawn].duplicated(keep=False)]


def ten_types(group: Group, types: np.ndarray, n: int, seed: int) -> np.ndarray | None:
    """`n` // 10 occurrences of each of the group's ten most frequent types, or None if a type has
    fewer."""
    rng = generator(seed, "change", group.grouping, group.name, "ten_types")
    rows = rng.permutation(np.flatnonzero(group.representatives))
    ids = pd.Series(types[rows])
    counts = ids.value_counts()[:10]
    if len(counts) < 10 or counts.iloc[-1] < n // 10:
        return None
    return rows[ids.isin(counts.index) & (ids.groupby(ids).cumcount() < n // 10)]


DRAWS = {"published": published, "matched": matched, "ten_types": ten_types}


def within_types(
    x: np.ndarray,
    y: np.ndarray,
    types: np.ndarray,
    blocks: np.ndarray,
    count: int,
) -> dict:
    """The distance between deviations from type means, with its interval: a row of a table.

    x, y: two views of the same occurrences, `[n, d_x]` and `[n, d_y]`. types, blocks: the type and
    block of each occurrence, `[n]`. Means are computed anew without each block. If a type occurs m
    times, each time in another block, the variance is then at most m / (m - 1) times too large;
    with the means of all blocks it would be too small, (m - 1) / m times the true one.
    """
    whole, *others = moments_within(x, y, types, blocks, count)
    [value], without = measured(whole, others, KINDS)
    needed = pwcca.rows_needed(whole.d_x, whole.d_y)
    return row(value, without[:, 0], len(types), needed)


def moments_within(
    x: np.ndarray,
    y: np.ndarray,
    types: np.ndarray,
    blocks: np.ndarray,
    count: int,
) -> Iterator[Moments]:
    """Moments of the deviations from type means: of all rows, then without each block.

    Arguments as in `within_types`. When rows leave a type, its scatter falls by theirs. Since its
    mean moves, it also falls by the square of the sum of their deviations, divided by the number of
    rows left.
    """
    rows = torch.from_numpy(np.concatenate([x, y], axis=1)).double()
    _, places, counts = np.unique(types, return_inverse=True, return_counts=True)
    sizes = torch.from_numpy(counts).to(rows)
    deviations = rows - (_sums(rows, places, len(sizes)) / sizes[:, None])[places]
    # A neuron that is constant within each type keeps nothing but rounding, which is set to 0.
    deviations *= deviations.square().sum(0) > CONSTANT * rows.square().sum(0)
    whole = deviations.T @ deviations
    freedom = len(rows) - len(sizes)
    yield _centered(whole, freedom, x.shape[1])
    for block in range(count):
        gone = np.flatnonzero(blocks == block)
        affected, of_gone, n_gone = np.unique(places[gone], return_inverse=True, return_counts=True)
        left = sizes[affected] - torch.from_numpy(n_gone).to(rows)
        # Where no row is left, the deviations sum to zero.
        sums = _sums(deviations[gone], of_gone, len(affected)) / left.clamp(min=1).sqrt()[:, None]
        scatter = whole - deviations[gone].T @ deviations[gone] - sums.T @ sums
        without_rounding(scatter, whole)
        lost = len(gone) - int((left == 0).sum())
        yield _centered(scatter, freedom - lost, x.shape[1])


def _sums(rows: torch.Tensor, places: np.ndarray, n: int) -> torch.Tensor:
    """Sums of `rows` by their place (below `n`): `[n, d]`."""
    sums = torch.zeros(n, rows.shape[1]).to(rows)
    return sums.index_add_(0, torch.from_numpy(places).to(rows.device), rows)


def _centered(scatter: torch.Tensor, n: int, d_x: int) -> Moments:
    """Moments of mean 0 with `n` degrees of freedom."""
    moments = Moments(d_x, len(scatter) - d_x, scatter.device)
    moments.n, moments.scatter = n, scatter
    return moments
