"""Judge each claim of the papers by the tables of a study.

Settings: estimators (for each table with several estimates, those to judge by: values by column);
          texts (for tables, the split that they are of, and the keys that would enlarge it);
          others (by name, other estimates of one table [table, values by column], by which the
          claims on it are judged as well); initial (for each objective, that of the models it
          starts from); looks (the seeds in order, and how many of them each look has);
          lacking (by table, why it is not given, or has no rows about words).
Inputs:   tables of measures (.csv, or .parquet with the values without blocks of documents),
          named after their files; if there are any, rank correlations of our curves with the
          published ones, the table of quality and the learning curves of runs
          (runs/<run>/metrics.jsonl).
Outputs:  the claims, a row each, with their verdicts; not measured if their table is not given;
          and each measured claim under every specification, a row each.
"""

import argparse
import logging
from pathlib import Path
from typing import Any

import pandas as pd

from bottomup.plan import program
from bottomup.claims.catalog import CLAIMS
from bottomup.claims.judge import judge
from bottomup.claims.looks import Looks
from bottomup.claims.readiness import not_ready
from bottomup.claims.specifications import specify
from bottomup.claims.tables import LEARNING, learning_curves, load
from bottomup.core.files.tables import read_table, write_table
from bottomup.core.settings import Section


class Settings(Section):
    estimators: dict[str, dict[str, Any]]
    others: dict[str, tuple[str, dict[str, Any]]]
    texts: dict[str, dict[str, str | None]]
    initial: dict[str, str]
    looks: Looks
    lacking: dict[str, str]


NO_QUALITY = pd.DataFrame(columns=["objective", "metric", "value"])
NO_CORRELATIONS = pd.DataFrame()


def main(arguments: argparse.Namespace) -> None:
    settings = arguments.settings
    tables = load(arguments.tables, settings.estimators, settings.texts)
    curves = {path.parent.name: read_table(path) for path in arguments.metrics}
    if curves:
        tables[LEARNING] = learning_curves(curves)
    others = {
        other: (name, tables | load([path], {name: columns}, settings.texts))
        for other, (name, columns) in settings.others.items()
        for path in arguments.tables
        if path.stem == name
    }
    compared = arguments.correlations
    correlations = read_table(compared) if compared else NO_CORRELATIONS
    quality = read_table(arguments.quality) if arguments.quality else NO_QUALITY
    ready = not_ready(curves, quality)
    specified = specify(CLAIMS, tables, settings.initial, others)
    of_study = settings.initial, correlations, specified, ready, settings.looks, settings.lacking
    claims = judge(CLAIMS, tables, *of_study)
    write_table(claims, arguments.table)
    write_table(specified, arguments.specifications)
    counts = claims["verdict"][claims["same_number_as"] == ""].value_counts()
    logging.info(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))


if __name__ == "__main__":
    parser = program.parser(__doc__, "table", "specifications")
    parser.add_argument("--tables", required=True, nargs="+", type=Path)
    parser.add_argument("--correlations", type=Path, nargs="?")
    parser.add_argument("--quality", type=Path, nargs="?")
    parser.add_argument("--metrics", type=Path, nargs="*", default=[])
    program.run(main, parser, Settings)
