"""Put our curves beside the published ones, and correlate their ranks.

Settings: none.
Inputs:   points of figures (.csv), as from plot_figure.py; each figure is named after its file.
Outputs:  a table of the curves that both have, with a row for each point; and a table of Spearman's
          rank correlations, with a row for each curve.
"""

import argparse
import logging
from pathlib import Path

import pandas as pd

from bottomup.plan import program
from bottomup.claims import comparison
from bottomup.core.files.tables import read_table, write_table


def main(arguments: argparse.Namespace) -> None:
    points = pd.concat([read(path) for path in arguments.figures])
    table = comparison.beside(points)
    correlations = comparison.correlate(table)
    write_table(table, arguments.table)
    write_table(correlations, arguments.correlations)
    median = correlations["rank_correlation"].median()
    logging.info(f"{len(correlations)} curves, median rank correlation {median:.2f}")


def read(path: Path) -> pd.DataFrame:
    names = {name: str for name in ("panel", "series", "quantity", "x")}
    points = read_table(path, dtype=names, na_values={"y": "", "low": "", "high": ""})
    return points.assign(figure=path.stem)


if __name__ == "__main__":
    parser = program.parser(__doc__, "table", "correlations")
    parser.add_argument("--figures", required=True, nargs="+", type=Path)
    program.run(main, parser)
