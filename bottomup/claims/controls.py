"""The tables of a study whose models were never trained, under the names of those that were."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from bottomup.claims.tables import N_DRAWS, Table, Tables

RUNS = ["objective_a", "seed_a", "objective_b", "seed_b"]


def untrained(tables: Tables, initial: Mapping[str, str]) -> Tables:
    """The tables as they are before training: the rows of initial models, called by the objectives
    that start from them. Initial models of themselves stay beside them.

    initial: by objective, the one whose models are those that it starts from; an initial one's own
    is itself.
    """
    return {
        name: (_pairs if "objective_a" in table.rows else _runs)(table, initial)
        for name, table in tables.items()
        if {"objective", "objective_a"} & set(table.rows)
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
    """Two objectives that start from one model are, under one seed, at a distance of 0."""
    rows = table.rows[[*RUNS, "layer"]].assign(place=table.rows.index)
    is_initial = rows[["objective_a", "objective_b"]].isin(initial.values()).all(axis="columns")
    # A pair that was measured the other way round is weighted by its other view.
    turned = rows[is_initial].rename(columns=dict(zip(RUNS, RUNS[2:] + RUNS[:2], strict=True)))
    known = pd.concat([rows[is_initial], turned])
    known = known.rename(columns={f"objective_{side}": f"initial_{side}" for side in "ab"})
    wanted = rows[~is_initial].drop(columns="place")
    for side in "ab":
        wanted[f"initial_{side}"] = wanted[f"objective_{side}"].map(initial)
    same = (wanted["initial_a"] == wanted["initial_b"]) & (wanted["seed_a"] == wanted["seed_b"])
    nothing = len(table.draws["distance"])
    found = [wanted[~same].merge(known), wanted[same].assign(place=nothing)]
    zero = np.zeros((1, 1 + 2 * N_DRAWS))
    draws = {"distance": np.vstack([table.draws["distance"], zero])}
    return replace(
        table, rows=pd.concat([rows[is_initial], *found]).set_index("place"), draws=draws
    )
