"""Judge each claim of the papers by the tables of a study.

Settings: estimators (for each table with several estimates, those to judge by: values by column);
          others (by name, another choice in one table [table, values by column], whose verdicts are
          given besides); initial (for each objective, that of the models it starts from).
Inputs:   tables of measures (.csv, or .parquet with the values without blocks of documents),
          named after their files; rank correlations of our curves with the published ones.
Outputs:  the claims, a row each, with their verdicts; undecided if their table is not given.
"""

import argparse
import logging
from pathlib import Path
from typing import Any

from bottomup import program
from bottomup.claims.catalog import CLAIMS
from bottomup.claims.judge import judge
from bottomup.claims.tables import load
from bottomup.files.tables import read_table, write_table
from bottomup.settings import Section


class Settings(Section):
    estimators: dict[str, dict[str, Any]]
    others: dict[str, tuple[str, dict[str, Any]]]
    initial: dict[str, str]


def main(arguments: argparse.Namespace) -> None:
    settings = arguments.settings
    tables = load(arguments.tables, settings.estimators)
    others = {
        other: (name, tables | load([path], {name: columns}))
        for other, (name, columns) in settings.others.items()
        for path in arguments.tables
        if path.stem == name
    }
    correlations = read_table(arguments.correlations)
    claims = judge(CLAIMS, tables, settings.initial, correlations, others)
    write_table(claims, arguments.table)
    counts = claims["verdict"].value_counts()
    logging.info(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--tables", required=True, nargs="+", type=Path)
    for name in ("correlations", "table"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    program.run(main, parser, Settings)
