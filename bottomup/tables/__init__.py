"""Tables of what is measured on views: one module for each, found by its name.

A module has `TABLE` (what it is about), `Settings` (its section of the config) and `rows(seen,
settings)`: the rows of its table without the columns that name the run, each with its values
without each block of documents, as `jackknife.write` needs them. Every plan of a study reads the
first two, so slow imports belong into `rows`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from bottomup.files.joins import require_equal_lengths
from bottomup.settings import Label, Null, Run


@dataclass(frozen=True)
class Table:
    """What a table is about.

    part: what one part of it is made from: the views of a run, of a run under a reading, or of two
        runs.
    section: its section of `measures` in the config, if that has another name.
    reads: what it needs besides the views.
    first_seed: whether it is about the first seed only.
    variants: whether it also covers variants of objectives in mask and target.
    null: whether its values are compared with those of permuted rows.
    category: where the report lists the figure of the same name, which shows everything compared;
        None without such a figure.
    """

    part: Literal["run", "reading", "pair"]
    section: str | None = None
    reads: tuple[Literal["annotations", "frequencies"], ...] = ()
    first_seed: bool = False
    variants: bool = False
    null: bool = False
    category: str | None = None


@dataclass(frozen=True)
class Seen:
    """What was seen of one run, or of two runs on the same occurrences.

    occurrences: a row each, with the columns of their annotation if the rule has it.
    views: `[layers + 1, n_occurrences, d_model]`, layer 0 first; others: those of the second run.
    frequencies: of tokens, if the rule has them.
    reading: how the text was fed.
    labels: which tokens information is about, and at which positions.
    null: which rows are permuted, for a table that compares its values with those of permuted rows.
    """

    occurrences: pd.DataFrame
    views: np.ndarray
    others: np.ndarray | None = None
    frequencies: pd.DataFrame | None = None
    reading: str = "plain"
    labels: tuple[Label, ...] = ()
    null: Null | None = None

    def __post_init__(self):
        parts = {"occurrences": self.occurrences, "views": self.views[0]}
        if self.others is not None:
            parts["others"] = self.others[0]
        require_equal_lengths(**parts)

    @property
    def blocks(self) -> np.ndarray:
        """The block of documents of each occurrence."""
        return self.occurrences["block"].to_numpy()

    def pairs_of_layers(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """The number and view of each layer, and the view of the second run at the same share of
        its depth, the upper of two as near: layer n if both have equally many layers."""
        depth, other_depth = len(self.views) - 1, len(self.others) - 1
        for layer, view in enumerate(self.views):
            yield layer, view, self.others[(2 * layer * other_depth + depth) // (2 * depth)]


def columns_of(run: Run) -> dict[str, str | int]:
    """The columns of a table that name a run."""
    return {"objective": run.objective, "seed": run.seed}


def cases(rows: pd.DataFrame) -> pd.Series:
    """How many cases each row rests on."""
    return rows["n_occurrences" if "n_occurrences" in rows else "n"]


def too_few(rows: pd.DataFrame) -> pd.Series:
    """Which rows rest on fewer cases than they need; none in a table that does not say so."""
    if "n_needed" not in rows:
        return pd.Series(False, index=rows.index)
    return cases(rows) < rows["n_needed"]


def seen_by_all(
    occurrences: pd.DataFrame, views: list[np.ndarray]
) -> tuple[pd.DataFrame, list[np.ndarray]]:
    """The occurrences that all of these views `[layers + 1, n_occurrences, d_model]` have, and the
    views at these rows; unchanged if these are all."""
    missing = np.any([np.isnan(view[0, :, 0]) for view in views], axis=0)
    if not missing.any():
        return occurrences, views
    kept = np.flatnonzero(~missing)
    return occurrences.iloc[kept].reset_index(drop=True), [view[:, kept] for view in views]
