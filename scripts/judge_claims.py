"""Judge each claim of the papers by the tables of a study.

Settings: what to judge by where a table has several of a kind, by column: n_clusters, variant,
          weights, k.
Inputs:   tables of measures (.csv), called by their files; rank correlations of our curves with
          the published ones.
Outputs:  the claims, a row each, with their verdicts; undecided where their table is not given.
"""

import argparse
import logging
from pathlib import Path

import pandas as pd

from bottomup import program
from bottomup.claims import evolution, heads
from bottomup.claims.claim import judge
from bottomup.errors import UserError

CLAIMS = [*evolution.CLAIMS, *heads.CLAIMS]


def main(arguments: argparse.Namespace) -> None:
    tables = {path.stem: chosen(path, arguments.settings) for path in arguments.tables}
    claims = judge(CLAIMS, tables, pd.read_csv(arguments.correlations))
    claims.to_csv(arguments.table, index=False)
    counts = claims["verdict"].value_counts()
    logging.info(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))


def chosen(path: Path, settings: dict) -> pd.DataFrame:
    table = pd.read_csv(path)
    for column in settings.keys() & set(table):
        rows = table[table[column] == settings[column]]
        if rows.empty and len(table):
            found = ", ".join(map(str, table[column].dropna().unique()))
            raise UserError(
                f"no rows with {column} {settings[column]} in {path}; found {found}; choose one "
                f"of these or measure it"
            )
        table = rows
    return table


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--tables", required=True, nargs="+", type=Path)
    for name in ("correlations", "table"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    program.run(main, parser)
