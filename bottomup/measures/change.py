"""How much the tokens of a group change from layer to layer: Voita et al. EMNLP 2019, section 5.1.

The change is the PWCCA distance between the representations of the group's occurrences at two
consecutive layers, weighted by the lower one.
"""

import logging
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import torch

from bottomup.errors import UserError
from bottomup.measures.blocks import distances, moments_of_blocks
from bottomup.measures.groups import Group
from bottomup.seeds import generator

logger = logging.getLogger(__name__)


def change(
    views: list[np.ndarray],
    sentences: np.ndarray,
    groups: list[Group],
    n_occurrences: int,
    n_samples: int,
    seed: int,
    device: torch.device | str = "cpu",
) -> Iterator[dict]:
    """Rows of a table: grouping, group, layer_a, layer_b, distance, ci_low, ci_high, n_occurrences.

    views: `[n, d_model]` for each layer, layer 0 first; sentences: `[n]`, that of each row.
    Each group counts with `n_occurrences` of its representatives, drawn without replacement, the
    same for all layers and runs: PWCCA is biased downwards the more, the fewer points it sees
    (by about d_model / n_occurrences of its value), so groups are compared at one number. A group
    with fewer is left out. UserError where this leaves none.
    """
    chosen = [(group, rows_of(group, n_occurrences, seed)) for group in groups]
    chosen = [(group, rows) for group, rows in chosen if rows is not None]
    if not chosen:
        raise UserError(
            f"no group has {n_occurrences} occurrences; "
            "lower measures.change.occurrences, or raise corpus.splits.test_words and occurrences.n"
        )
    for group, rows in chosen:
        names = {"grouping": group.grouping, "group": group.name}
        for layer, (lower, upper) in enumerate(pairwise(view[rows] for view in views)):
            blocks = moments_of_blocks(lower, upper, sentences[rows], seed, device)
            [row] = distances(blocks, [("definition", "x")], n_samples, seed)
            yield {**names, "layer_a": layer, "layer_b": layer + 1, **row}


def rows_of(group: Group, n: int, seed: int) -> np.ndarray | None:
    """`n` of the group's representatives, drawn and put in order, or None where it has fewer."""
    rows = np.flatnonzero(group.representatives)
    if len(rows) < n:
        logger.info(f"{group.name} has {len(rows)} occurrences, fewer than {n}: left out")
        return None
    drawn = generator(seed, "change", group.grouping, group.name).choice(rows, n, replace=False)
    return np.sort(drawn)
