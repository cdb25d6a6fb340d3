"""The tables of a study's initial models, under the names of the objectives that start from
them."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from bottomup.claims.tables import N_DRAWS, RUNS, Table, Tables


def untrained(tables: Tables, initial: Mapping[str, str]) -> Tables:
    """The tables before training: the rows of initial models, named after the objectives that start
    from them. Rows under the initial models' own names stay beside them. Tables of pairs are left
    out, unless they hold distances: nothing else is measured of initial pairs.

    initial: for each objective, the one whose models it starts from; `untrained` starts from
    itself.
    """

    def before(table: Table) -> Table:
        return (_pairs if "objective_a" in table.rows else _runs)(table, initial)

    by = "untrained", *initial.items()
    return {
        name: table.once(by, before)
        for name, table in tables.items()
        if "objective" in table.rows or {"objective_a", "distance"} <= {*table.rows}
    }


def _runs(table: Table, initial: Mapping[str, str]) -> Table:
    by_objective = dict(list(table.rows.groupby("objective")))
    renamed = [
        by_objective[start].assign(objective=name)
        for name, start in initial.items()
        if start in by_objective
    ]
    return replace(table, rows=pd.concat([table.rows[:0], *renamed]))


def _pairs(table: Table, initial: Mapping[str, str]) -> Table:
    """Two objectives that start from the same model have distance 0 for the same seed."""
    rows = table.rows[[*RUNS, "layer"]].assign(place=table.rows.index)
    is_initial = rows[["objective_a", "objective_b"]].isin(initial.values()).all(axis="columns")
    # A pair may have been measured the other way round; its weights are then from the other view.
    turned = rows[is_initial].rename(columns=dict(zip(RUNS, RUNS[2:] + RUNS[:2], strict=True)))
    known = pd.concat([rows[is_initial], turned])
    known = known.rename(columns={f"objective_{side}": f"initial_{side}" for side in "ab"})
    wanted = rows[~is_initial].drop(columns="place")
    for side in "ab":
        wanted[f"initial_{side}"] = wanted[f"objective_{side}"].map(initial)
    same = (wanted["initial_a"] == wanted["initial_b"]) & (wanted["seed_a"] == wanted["seed_b"])
    nothing = len(table.draws["distance"])
    matched = [wanted[~same].merge(known), wanted[same].assign(place=nothing)]
    zero = np.zeros((1, 1 + 2 * N_DRAWS))
    draws = {"distance": np.vstack([table.draws["distance"], zero])}
    return replace(
        table, rows=pd.concat([rows[is_initial], *matched]).set_index("place"), draws=draws
    )
