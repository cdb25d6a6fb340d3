"""PWCCA with intervals, for all pairs of runs at all layers, and for all groups of tokens."""

import time
from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
from synthetic import annotate, draw_lengths, draw_text, occurrences_of
from task import Contender, Task, Work

from bottomup.core.settings import Null
from bottomup.measures import change
from bottomup.measures.groups import Group, groups
from bottomup.measures.pwcca import kinds_of, pwcca_distance
from bottomup.tables import pwcca_between_runs
from bottomup.views.seen import Seen

LAYERS = 2
N_TOKENS = 2000


def work_of_pairs(n: int, d: int, runs: int) -> Work:
    """Each view's own covariance, n d^2 operations by symmetry, and 2 n d^2 for that of a pair.

    Leaving out a block of documents only adds up moments, so intervals cost no pass.
    """
    views, pairs = (LAYERS + 1) * runs, (LAYERS + 1) * runs * (runs - 1) // 2
    return Work(items=pairs, flop=(views + 2 * pairs) * n * d**2, dtype="float64")


def draw_runs(n: int, d: int, runs: int) -> tuple[pd.DataFrame, list[np.ndarray]]:
    """The table of at most `n` occurrences, and views `[LAYERS + 1, n, d]` of each run."""
    rng = np.random.default_rng(1)
    text = draw_text(draw_lengths(n // 18, rng), N_TOKENS, rng)
    table = occurrences_of(text, N_TOKENS)[:n].reset_index(drop=True)
    vectors = rng.standard_normal((N_TOKENS + 4, d), dtype=np.float32)[table["input_id"]]
    shape = (LAYERS + 1, len(table), d)
    return table, [vectors + rng.standard_normal(shape, dtype=np.float32) for _ in range(runs)]


def pairs_as_tables(n: int, d: int, runs: int, null: Null | None = None) -> tuple[float, float]:
    """The rows of the workflow's tables."""
    table, views = draw_runs(n, d, runs)
    settings = pwcca_between_runs.Settings(variants=["definition"])
    start = time.process_time()
    found = [
        row["distance"]
        for x, y in combinations(views, 2)
        for row in pwcca_between_runs.rows(Seen(table, x, y, null=null), settings)
    ]
    return time.process_time() - start, float(np.mean(found))


def pairs_with_null(n: int, d: int, runs: int) -> tuple[float, float]:
    """As the default study has them."""
    return pairs_as_tables(n, d, runs, Null(permutations=63, seed=1))


def pairs_one_by_one(n: int, d: int, runs: int) -> tuple[float, float]:
    """Each distance, and each without a block, from the views."""
    table, views = draw_runs(n, d, runs)
    blocks, found = table["block"].to_numpy(), []
    start = time.process_time()
    for x, y in combinations(views, 2):
        for layers in zip(x, y, strict=True):
            for variant, weights in kinds_of(["definition"]):
                distances = [
                    pwcca_distance(*(view[rows] for view in layers), variant, weights)
                    for rows in with_and_without(blocks)
                ]
                found.append(distances[0])
    return time.process_time() - start, float(np.mean(found))


def with_and_without(blocks: np.ndarray) -> Iterator[np.ndarray]:
    """All rows, and those outside each block: bool `[n]`."""
    yield np.ones(len(blocks), dtype=bool)
    for block in np.unique(blocks):
        yield blocks != block


def draw_grouped(n: int, d: int, each: int) -> tuple[pd.DataFrame, np.ndarray, list[Group]]:
    table, [views] = draw_runs(n, d, 1)
    return table, views, groups(table, annotate(table, np.random.default_rng(1)))


def draws(table: pd.DataFrame, found: list[Group], each: int) -> list[tuple[str, np.ndarray]]:
    """The rows of each group under each matching with enough rows, as `change` draws them."""
    types = table["input_id"].to_numpy()
    rows = [
        (matching, draw(group, types, each, 1))
        for group in found
        for matching, draw in change.DRAWS.items()
    ]
    return [(matching, np.sort(some)) for matching, some in rows if some is not None]


def work_of_groups(n: int, d: int, each: int) -> Work:
    """The covariances of each group's rows at two layers, 4 n d^2 operations for each pair."""
    table, _, found = draw_grouped(n, d, each)
    rows = [len(some) for _, some in draws(table, found, each)]
    return Work(items=len(rows) * LAYERS, flop=4 * d**2 * sum(rows) * LAYERS, dtype="float64")


def groups_as_tables(n: int, d: int, each: int) -> tuple[float, float]:
    table, views, found = draw_grouped(n, d, each)
    start = time.process_time()
    distances = [row["distance"] for row in change.change(views, table, found, each, seed=1)]
    return time.process_time() - start, float(np.mean(distances))


def groups_one_by_one(n: int, d: int, each: int) -> tuple[float, float]:
    """Each distance, and each without a block, from the rows of the group."""
    table, views, found = draw_grouped(n, d, each)
    types, blocks = (table[name].to_numpy() for name in ("input_id", "block"))
    distances = []
    start = time.process_time()
    for matching, rows in draws(table, found, each):
        for layers in pairwise(views):
            for kept in with_and_without(blocks[rows]):
                pair = [view[rows[kept]] for view in layers]
                if matching == "matched":
                    pair = [deviations(view, types[rows[kept]]) for view in pair]
                distance = pwcca_distance(*pair)
                if kept.all():
                    distances.append(distance)
    return time.process_time() - start, float(np.mean(distances))


def deviations(view: np.ndarray, types: np.ndarray) -> np.ndarray:
    """The deviations from the mean of each row's type, float64."""
    rows = pd.DataFrame(view.astype(np.float64))
    return (rows - rows.groupby(types).transform("mean")).to_numpy()


TASKS = {
    "pairs": Task(
        target="one pass over the data; cost a pair stated",
        item="pairs",
        value="mean distance",
        work=work_of_pairs,
        contenders={
            "bottomup": Contender(pairs_as_tables),
            "with its null": Contender(pairs_with_null),
            "one by one": Contender(pairs_one_by_one),
        },
        sizes=[{"n": 20_000, "d": 128, "runs": runs} for runs in (2, 3, 4)],
        small=[{"n": 2000, "d": 32, "runs": runs} for runs in (2, 3, 4)],
    ),
    "groups": Task(
        target="one pass over the data; cost a pair stated",
        item="pairs",
        value="mean distance",
        work=work_of_groups,
        contenders={
            "bottomup": Contender(groups_as_tables),
            "one by one": Contender(groups_one_by_one),
        },
        sizes=[{"n": 60_000, "d": 128, "each": each} for each in (500, 1000, 2000)],
        small=[{"n": 5000, "d": 16, "each": each} for each in (50, 100, 200)],
    ),
}
