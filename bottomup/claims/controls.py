"""The tables of a study whose models were never trained, under the names of those that were."""

from dataclasses import replace

import numpy as np
import pandas as pd

from bottomup.claims.tables import N_DRAWS, Table, Tables
from bottomup.measures.initial import INITIAL

RUNS = ["objective_a", "seed_a", "objective_b", "seed_b"]


def untrained(tables: Tables) -> Tables:
    """The tables as they are before training: the rows of initial models, called by the objectives
    that start from them. Initial models of themselves stay beside them."""
    return {
        name: _pairs(table) if "objective_a" in table.rows else _runs(table)
        for name, table in tables.items()
        if {"objective", "objective_a"} & set(table.rows)
    }


def _runs(table: Table) -> Table:
    of_initial = {
        name: part for name, part in table.rows.groupby("objective") if name in INITIAL.values()
    }
    renamed = [
        of_initial[initial].assign(objective=name)
        for name, initial in INITIAL.items()
        if initial in of_initial
    ]
    return replace(table, rows=pd.concat([table.rows[:0], *of_initial.values(), *renamed]))


def _pairs(table: Table) -> Table:
    """Two objectives that start from one model are, under one seed, at a distance of 0."""
    rows = table.rows[[*RUNS, "layer"]].assign(place=table.rows.index)
    is_initial = rows[["objective_a", "objective_b"]].isin(INITIAL.values()).all(axis="columns")
    # A pair that was measured the other way round is weighted by its other view.
    turned = rows[is_initial].rename(columns=dict(zip(RUNS, RUNS[2:] + RUNS[:2], strict=True)))
    known = pd.concat([rows[is_initial], turned])
    known = known.rename(columns={f"objective_{side}": f"initial_{side}" for side in "ab"})
    wanted = rows[~is_initial].drop(columns="place")
    for side in "ab":
        wanted[f"initial_{side}"] = wanted[f"objective_{side}"].map(INITIAL)
    same = (wanted["initial_a"] == wanted["initial_b"]) & (wanted["seed_a"] == wanted["seed_b"])
    nothing = len(table.draws["distance"])
    found = [wanted[~same].merge(known), wanted[same].assign(place=nothing)]
    zero = np.zeros((1, 1 + 2 * N_DRAWS))
    draws = {"distance": np.vstack([table.draws["distance"], zero])}
    return replace(
        table, rows=pd.concat([rows[is_initial], *found]).set_index("place"), draws=draws
    )
