"""Join the parts of a measure, one for each run or pair of runs, into its table.

Inputs:  tables with the same columns.
Outputs: one table, parts in the order given.
"""

import argparse
from pathlib import Path

import pandas as pd

from bottomup import program


def main(arguments: argparse.Namespace) -> None:
    parts = [pd.read_csv(path, keep_default_na=False, dtype=str) for path in arguments.tables]
    pd.concat(parts).to_csv(arguments.table, index=False)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--tables", type=Path, nargs="+", required=True)
    parser.add_argument("--table", type=Path, required=True)
    program.run(main, parser)
