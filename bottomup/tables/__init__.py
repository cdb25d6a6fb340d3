"""Measures, a table each: one module declares and computes it, and is found by its name.

A module has

- `TABLE`: what it is about, what it reads, what its jobs take, and where its values are used;
- `Settings`: what its values depend on, by default its section of `measures` in the config;
- `Keys`: this section, if `Settings` has more than it, and `options` both;
- `rows(seen, settings)`: the rows of its table, without the columns that name what it is about:
  dictionaries, or a DataFrame. Values left of `ci_low` are there without each block of documents in
  `without`, those of another column in one right of it whose name ends in `_without`, see
  `bottomup.measures.jackknife`;
- `COLUMNS`: these columns, if a table of a model without heads is to be empty.

docs/tables.md says what rows and columns are. Rules, the one program (scripts/measure.py), slices,
lists and pages follow from the modules. Every plan of a study reads the first two, so slow imports
belong in `rows`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from bottomup.core import names
from bottomup.core.files.tables import WITHOUT
from bottomup.core.settings import Measured, Section

if TYPE_CHECKING:
    from bottomup.plan.slices import Slices
    from bottomup.plan.subjects import Subjects


def looked_at(subjects: "Subjects") -> list[str]:
    """The runs of all that is compared, at their end and at earlier steps."""
    return subjects.runs(subjects.looked_at + subjects.steps)


def with_first_steps(subjects: "Subjects") -> list[str]:
    """The runs of all that is compared; those at earlier steps for the first seed only."""
    return subjects.runs(subjects.looked_at) + subjects.first_runs(subjects.steps)


def reading_alone(subjects: "Subjects") -> list[str]:
    """The runs of the compared objectives that predict tokens of what they read and do not read
    text from its end, at their end and at earlier steps; and checkpoints.

    A model that predicts chosen tokens is asked with <mask> in their place, so it must know it.
    """

    def alone(name: str) -> bool:
        objective = subjects.study.objective_options(names.whole(name))
        of_tokens = subjects.predicts_tokens(names.whole(name))
        asked = of_tokens and (not objective.masked or "masked" in objective.read_as)
        return asked and not objective.decodes() and not subjects.from_end(name)

    ours = [name for name in subjects.compared + subjects.steps if alone(name)]
    return subjects.runs(ours + subjects.checkpoints)


@dataclass(frozen=True)
class Table:
    """What a table is about, what it reads, what its jobs take, and where its values are used.

    part: what one part of it is about: a run, a run under a reading, two runs, or a run with fewer
        heads.
    reads: what it is made from, names in `READS` of rules/measures.smk; "annotations" are of the
        reading plain, so not for a table of readings.
    sees: from what its rows are computed, the room of `seen.Seen`: views, or a subject and text.
    parts: the parts of a study, from its subjects; their order is that of the table.
    section: its section of `measures` in the config, if that has another name.
    options: what `Settings` holds, from the study's slices and the wildcards of a job, if that is
        no section of `measures`.
    modules: the modules that it chooses by name while it runs, from the same.
    of_heads: what must be possible with the heads of a model; other models have no rows, only
        `COLUMNS`.
    annotated: whether it is about annotated words alone, and left out without annotation.
    of_words: what must be known of a word for the rows about it, as in `measures.probes.tasks`.
    null: whether its values are compared with those of permuted rows.
    writes: the kinds of its files: values (csv), and the same with values without each block of
        documents (parquet).
    memory, minutes: what a job takes in MB and minutes: a part that is always there, a part for
        each MB of input, and for memory one for each MB of weights, if these count otherwise.
    batch_tokens: tokens that a model reads at once, if it reads text.
    seconds: what a job takes in the default study on its own core, for the progress line.
    over_layers: whether it has a curve over layers for the explorer to show.
    judged: whether claims rest on it.
    split, enlarge: the split that it is measured on, and the keys with which it would see more of
        that text, for claims.
    shown: from its section, the rows that figures show and claims use, as values of its columns.
    others: the same for other estimates, by name; verdicts should be the same under them.
    category: where the report lists the figure of the same name, which shows everything compared;
        None without such a figure.
    """

    part: Literal["run", "reading", "pair", "pruned"]
    reads: tuple[str, ...] = ("views",)
    sees: Literal["views", "subjects"] = "views"
    parts: Callable[["Subjects"], list[str]] = looked_at
    section: str | None = None
    options: Callable[["Slices", Any], Section | dict] | None = None
    modules: Callable[["Slices", Any], list[str]] | None = None
    of_heads: Literal["looked at", "changed"] | None = None
    annotated: bool = False
    of_words: Literal["tag", "relation", "ccg"] | None = None
    null: bool = False
    writes: tuple[Literal["csv", "parquet"], ...] = ("csv", "parquet")
    memory: tuple[float, ...] = (3000, 2)
    minutes: tuple[float, float] = (30, 0.1)
    batch_tokens: int | None = None
    seconds: float = 3
    over_layers: bool = False
    judged: bool = False
    split: Literal["test", "dev"] = "test"
    enlarge: str | None = None
    shown: Callable[[Any], dict[str, Any]] | None = None
    others: Callable[[Any], dict[str, dict[str, Any]]] | None = None
    category: str | None = None


def value_columns(columns: Iterable[str]) -> list[str]:
    """The column of values, which stands left of their interval; none in a table without one."""
    return [left for left, right in pairwise(columns) if right == "ci_low"]


def mistake(rows: pd.DataFrame, table: Table | Measured) -> str | None:
    """What is wrong with the rows of a table for the explorer (`over_layers`) or for claims
    (`judged`); None if nothing is, and for a table without rows."""
    if rows.empty or not (table.over_layers or table.judged):
        return None
    values = value_columns(rows)
    if not values:
        return "no column ci_low right of the values; allowed: ci_low and ci_high, or None in both"
    if _numbers(rows[values[0]]) is None:
        return f"a {values[0]} that is no number; allowed: float(...) of it"
    if table.judged and WITHOUT not in rows:
        return f"no column {WITHOUT}, which claims read; allowed: values without each block"
    return _not_over_layers(rows, values[0]) if table.over_layers else None


def _not_over_layers(rows: pd.DataFrame, value: str) -> str | None:
    """What is wrong with the rows of a table of curves over layers."""
    layers = [name for name in ("layer", "layer_a", "layer_b") if name in rows]
    if not layers or not all(map(_whole_numbers, (rows[name] for name in layers))):
        return "no column layer of whole numbers; allowed: one, or layer_a and layer_b"
    about = [*rows.columns[: rows.columns.get_loc(value)], *({"n_clusters"} & {*rows})]
    if rows.duplicated(about).any():
        return (
            f"two rows for one {', '.join(about)}; allowed: one, or a column left of {value} that "
            "tells them apart"
        )
    return None


def _numbers(values: pd.Series) -> pd.Series | None:
    """Those that are not missing, as numbers; None if one is none."""
    known = values.dropna()
    numbers = pd.to_numeric(known, errors="coerce")
    return None if numbers.isna().any() else numbers


def _whole_numbers(values: pd.Series) -> bool:
    """Whether those that are not missing are whole numbers."""
    numbers = _numbers(values)
    return numbers is not None and not (numbers % 1).any()


def cases(rows: pd.DataFrame) -> pd.Series:
    """How many cases each row rests on."""
    return rows["n_occurrences" if "n_occurrences" in rows else "n"]


def too_few(rows: pd.DataFrame) -> pd.Series:
    """Which rows rest on fewer cases than they need; none in a table that does not say so."""
    if "n_needed" not in rows:
        return pd.Series(False, index=rows.index)
    return cases(rows) < rows["n_needed"]
