"""Tables of estimates, as claims read them: each value with draws of what it might have been.

Other held-out text would give other values. Draws of these come from the values without each block
of documents: a draw adds the same random mixture of the jackknife's deviations to every value in
every table (a multiplier bootstrap). So any statistic of the values can be computed from each draw,
too, and its draws spread as other text would make it spread. Other random choices, such as the
first centers of clusters, are not shared between values; they have their own draws.
"""

import logging
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TypedDict

import numpy as np
import pandas as pd

from bottomup.claims import NotEnoughError, NotMeasuredError
from bottomup.core.errors import UserError
from bottomup.core.files.tables import read_table
from bottomup.core.names import objective_and_seed
from bottomup.core.schema import nearest
from bottomup.core.seeds import generator
from bottomup.measures import jackknife
from bottomup.measures.jackknife import WITHOUT
from bottomup.measures.over_runs import without_blocks
from bottomup.tables import cases, too_few, value_columns

N_DRAWS = 200
TEXT = slice(1, 1 + N_DRAWS)
NOISE = slice(1 + N_DRAWS, 1 + 2 * N_DRAWS)
ERRORS = {"mi_nats": "clustering_error_nats"}
# The columns that tell rows with such errors apart.
ROW = [
    *("objective", "seed", "layer", "reading", "positions", "label"),
    *("n_tokens", "estimator", "n_clusters"),
]
LEARNING = "learning_curves"  # of runs, from their metrics.jsonl
SEEDS = ("seed", "seed_a", "seed_b")
OBJECTIVES = ("objective", "objective_a", "objective_b")
RUNS = ["objective_a", "seed_a", "objective_b", "seed_b"]  # of a pair

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Table:
    """Some rows of a table, and draws of its columns of values.

    rows: their index is their place in the whole table. few: the rows on fewer cases than they
    need, which are left out. draws: by column, `[n_whole, 1 + 2 * N_DRAWS]`: the value, draws of
    other text (`TEXT`) and of other noise (`NOISE`). n_blocks: the number of blocks of documents, 0
    without draws. split: the split that it was measured on; enlarge: the keys with which it would
    see more of it.
    """

    name: str
    rows: pd.DataFrame
    few: pd.DataFrame
    draws: dict[str, np.ndarray]
    n_blocks: int
    split: str = "test"
    enlarge: str | None = None
    # Many claims ask for the same rows of a table.
    _cache: dict = field(init=False, default_factory=dict, repr=False, compare=False)

    def where(self, **equal) -> "Table":
        """The rows in which each column has the given value; NotMeasuredError if there is none."""
        asked = tuple(equal.items())
        if asked not in self._cache:
            if self.rows.empty and self.few.empty:  # then it has no columns either
                raise self._missing(equal)
            self.require(*equal)
            # One mask for all conditions, since each choice of rows copies all columns.
            kept = np.full(len(self.rows), True)
            for column, value in asked:
                kept &= self.rows[column].to_numpy() == value
            self._cache[asked] = self.with_rows(self.rows[kept])
        if self._cache[asked].rows.empty:
            raise self._missing(equal)
        return self._cache[asked]

    def require(self, *columns: str) -> None:
        """Raise UserError unless the table has these columns."""
        require_columns(self.name, self.rows, columns)

    def _missing(self, equal: Mapping) -> NotMeasuredError:
        """The error for rows that are not there, or that rest on too few cases."""
        wanted = ", ".join(f"{column} {value}" for column, value in equal.items())
        few = self.few
        if len(few):
            few = few[(few[[*equal]] == pd.Series(equal)).all(axis="columns")]
        if few.empty:
            objective = equal.get("objective")
            of_it = objective is None or objective in {*self.rows.get("objective", [])}
            what = f"{wanted or 'any row'} in the table {self.name}"
            return NotMeasuredError(what, self.name if of_it or self.rows.empty else "")
        keys = f"corpus.splits.{self.split}_words"
        if self.enlarge:
            keys += f", and see {self.enlarge}"
        return NotEnoughError(
            f"{few['n_needed'].min():,.0f} cases{' of ' if wanted else ''}{wanted} in the table "
            f"{self.name}, here {cases(few).max():,.0f}: raise {keys}"
        )

    def filtered(self, kept: pd.Series) -> "Table":
        """The rows where the mask `kept` is true."""
        return self.with_rows(self.rows[kept])

    def once(self, by: Hashable, make: Callable[["Table"], "Table"]) -> "Table":
        """What `make` makes of this table, once for each name `by`. The result is one object, so
        that it also keeps what was read from it."""
        if by not in self._cache:
            self._cache[by] = make(self)
        return self._cache[by]

    def with_rows(self, rows: pd.DataFrame) -> "Table":
        """The same table with these rows."""
        return replace(self, rows=rows)

    @property
    def text(self) -> str:
        """The text of which more would narrow intervals, if more runs do not."""
        text = "dev text" if self.split == "dev" else "held-out text"
        return f"{text} and {self.enlarge}" if self.enlarge else text

    def values(self, column: str) -> np.ndarray:
        """A column with its draws, `[n, 1 + 2 * N_DRAWS]`; without draws, the values repeated."""
        if column in self.draws:
            return self.draws[column][self.rows.index]
        self.require(column)
        constant = self.rows[column].to_numpy(float)
        return np.repeat(constant[:, None], 1 + 2 * N_DRAWS, axis=1)


class Text(TypedDict, total=False):
    """On which text a table is measured; see `Table`."""

    split: str
    enlarge: str | None


Tables = dict[str, Table]
Blocks = frozenset[tuple[str, int]]  # splits, and how many blocks of documents each has


def load(
    paths: Sequence[Path],
    estimators: Mapping[str, Mapping],
    texts: Mapping[str, Text],
) -> Tables:
    """Tables in files (.csv, or .parquet with the values without blocks), named after their files.

    estimators: for each table with several estimates, the ones to use: see `select`. texts: `split`
    and `enlarge` of tables for which they are not the defaults.

    Raises UserError for values that lack their values without blocks.
    """
    tables = {}
    for path in paths:
        frame = read_table(path)
        rows = select(path.stem, frame, estimators.get(path.stem, {}))
        tables[path.stem] = table(path.stem, rows, **texts.get(path.stem, {}))
    return tables


def select(name: str, frame: pd.DataFrame, columns: Mapping) -> pd.DataFrame:
    """The rows that have the given value in each column, or one of a list of values.

    If there is none, for example because all groups are too small to be matched, a warning says
    that the study has not measured this, and it goes on without.
    """
    if frame.empty:  # then it has no columns either
        return frame
    require_columns(name, frame, columns)
    for column, value in columns.items():
        rows = frame[frame[column].isin(value if isinstance(value, list) else [value])]
        if rows.empty and len(frame):
            values = ", ".join(map(str, frame[column].dropna().unique()))
            log.info(f"left out: no rows with {column} {value} in {name}, found {values}")
        frame = rows
    return frame


def require_columns(name: str, frame: pd.DataFrame, columns: Iterable[str]) -> None:
    """Raise UserError unless the table `name` has these columns."""
    for column in columns:
        if column not in frame:
            raise UserError(
                f"the table {name} has no column {column}, by which a claim or its `shown` "
                f"chooses; {nearest(column, [*frame])}"
            )


def table(name: str, frame: pd.DataFrame, split: str = "test", enlarge: str | None = None) -> Table:
    """A table with draws of its values, from a frame like `measures/<name>.parquet`."""
    few, frame = frame[too_few(frame)], frame[~too_few(frame)].reset_index(drop=True)
    arrays = without_of([*frame])
    if value_columns(frame) and WITHOUT not in frame:
        raise UserError(
            f"the table {name} has no column {WITHOUT}, the values without each block of "
            f"documents; give measures/{name}.parquet"
        )
    if (arrays or WITHOUT in frame) and not value_columns(frame):
        raise UserError(
            f"the table {name} has values without each block of documents, and no column ci_low, "
            "which stands right of the values; add ci_low and ci_high, empty if not known"
        )
    draws = {
        column: _draws(frame, column, without, _other_text(split))
        for column, without in arrays.items()
    }
    n_blocks = 0
    if arrays:
        n_blocks = without_blocks(frame[next(iter(arrays))], frame[WITHOUT]).shape[1]
    rows = frame.drop(columns=[*arrays.values()])
    # Comparing and choosing text is several times faster with objects than with pandas' strings.
    texts = [name for name, of in rows.dtypes.items() if isinstance(of, pd.StringDtype)]
    rows = rows.astype(dict.fromkeys(texts, object))
    return Table(name, rows, few, draws, n_blocks, split, enlarge)


def without_of(columns: Sequence[str]) -> dict[str, str]:
    """The columns with values without each block of documents, by the column that they are of.

    `without` is of the values, which stand left of their interval; a column of a longer name that
    ends so, such as `baseline_without`, of the column left of it.
    """
    of_others = {left: right for left, right in pairwise(columns) if right.endswith(f"_{WITHOUT}")}
    values = value_columns(columns) if WITHOUT in columns else []
    return dict.fromkeys(values, WITHOUT) | of_others


def learning_curves(curves: Mapping[str, pd.DataFrame]) -> Table:
    """The learning curves of runs as a table.

    curves: by run (`lm-1`), its metrics.jsonl. A loss is not known without blocks of documents, so
    there are no draws of other text.
    """
    frames = []
    for run, curve in curves.items():
        objective, seed = objective_and_seed(run)
        frames.append(curve.assign(objective=objective, seed=seed))
    return table(LEARNING, pd.concat(frames, ignore_index=True), "dev")


def blocks_of(tables: Tables) -> Blocks:
    """The blocks of documents that the values of tables were measured without."""
    return frozenset((one.split, one.n_blocks) for one in tables.values())


def _draws(frame: pd.DataFrame, column: str, without: str, rng: np.random.Generator) -> np.ndarray:
    values = frame[column].to_numpy(float)[:, None]
    blocks = without_blocks(frame[column], frame[without])
    n_blocks = blocks.shape[1]
    # With one block the spread is unknown.
    text = values + jackknife.deviations(values[:, 0], blocks) @ mixtures(n_blocks, rng)
    noise = np.repeat(values, N_DRAWS, axis=1)
    if column in ERRORS:
        noise += frame[ERRORS[column]].fillna(0).to_numpy()[:, None] * _own(frame)
    return np.hstack([values, text, noise])


def _own(frame: pd.DataFrame) -> np.ndarray:
    """Standard normal draws of each row, `[n, N_DRAWS]`, which are the same wherever it stands and
    whatever stands beside it."""
    names = frame[[name for name in ROW if name in frame]].itertuples(index=False)
    draws = [generator(1, "own noise", *map(str, name)).standard_normal(N_DRAWS) for name in names]
    return np.reshape(draws, (len(frame), N_DRAWS))


def mixtures(n_blocks: int, rng: np.random.Generator) -> np.ndarray:
    """Weights `[n_blocks, N_DRAWS]` with which the jackknife's deviations add up to draws.

    They are orthogonal, so the variance of anything linear over draws is exactly the jackknife's.
    """
    weights = rng.standard_normal((N_DRAWS, n_blocks))
    orthogonal, _ = np.linalg.qr(weights - weights.mean(0))
    return orthogonal.T * np.sqrt(N_DRAWS)


def degrees_of_freedom(draws: np.ndarray, blocks: Blocks) -> np.ndarray:
    """The degrees of freedom of the variance over documents of each statistic: `[parts]`.

    draws: those of statistics of values of tables, `[parts, 1 + 2 * N_DRAWS]`. blocks: those of the
    tables.

    Least squares on the mixtures tells how much each block adds to a statistic (exactly, if the
    statistic is linear).
    """
    weights = _all_mixtures(blocks)
    if not len(weights):
        return np.ones(len(draws))
    deviations = draws[:, TEXT] - draws[:, :1]
    known = np.isfinite(deviations).all(axis=1)
    of_blocks, *_ = np.linalg.lstsq(weights.T, deviations[known].T, rcond=None)
    degrees = np.ones(len(draws))
    degrees[known] = jackknife.degrees_of_freedom(of_blocks.T)
    return degrees


@cache
def _all_mixtures(blocks: Blocks) -> np.ndarray:
    by_split = [mixtures(n, _other_text(split)) for split, n in sorted(blocks) if n > 1]
    return np.concatenate([np.empty((0, N_DRAWS)), *by_split])


def _other_text(split: str) -> np.random.Generator:
    """The generator of draws of other text, which are the same in all tables on a split."""
    return generator(1, "other text", split)


def of_seeds(tables: Tables, seeds: set[int]) -> Tables:
    """The rows of these seeds; for pairs of runs, those with both seeds among them."""

    def kept(table: Table) -> Table:
        columns = [name for name in SEEDS if name in table.rows]
        return table.filtered(table.rows[columns].isin(seeds).all(axis="columns"))

    by = "seeds", frozenset(seeds)
    return {name: table.once(by, kept) for name, table in tables.items()}


def without_objective(tables: Tables, objective: str) -> Tables:
    """The rows of other objectives; for pairs of runs, those without it."""

    def kept(table: Table) -> Table:
        return table.filtered(~_about(objective, table.rows))

    return {name: table.once(("without", objective), kept) for name, table in tables.items()}


def _about(objective: str, rows: pd.DataFrame) -> pd.Series:
    columns = [name for name in OBJECTIVES if name in rows]
    return (rows[columns] == objective).any(axis="columns")


def objectives(tables: Tables) -> list[str]:
    """All objectives in the tables."""
    return sorted(_values(tables, OBJECTIVES))


def seeds(tables: Tables) -> list[int]:
    """All seeds in the tables."""
    return sorted(map(int, _values(tables, SEEDS)))


def seeds_of(tables: Tables, names: Collection[str]) -> set[int]:
    """The seeds that these objectives have in the tables."""
    return {
        int(seed)
        for table in tables.values()
        for objective, seed in zip(OBJECTIVES, SEEDS, strict=True)
        if objective in table.rows
        for seed in table.rows.loc[table.rows[objective].isin(names), seed].unique()
    }


def _values(tables: Tables, columns: Sequence[str]) -> set:
    """What stands in any of these columns."""
    selected = (
        table.rows[name] for table in tables.values() for name in columns if name in table.rows
    )
    return {value for column in selected for value in column.unique()}
