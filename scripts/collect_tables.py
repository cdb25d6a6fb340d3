"""Join the parts of a table, one made by each job, in the order given.

Settings: none.
Inputs: the parts, with the same columns (.csv, or .parquet).
Outputs: the table, of the same kind.
"""

from pathlib import Path

import pandas as pd

from bottomup import program


def main(arguments):
    if arguments.table.suffix == ".parquet":
        parts = [pd.read_parquet(path) for path in arguments.tables]
        pd.concat(parts, ignore_index=True).to_parquet(arguments.table, index=False)
        return
    # As text: numbers pass through digit by digit, and a token called "null" stays one.
    parts = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in arguments.tables]
    pd.concat(parts).to_csv(arguments.table, index=False)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--tables", required=True, nargs="+", type=Path)
    parser.add_argument("--table", required=True, type=Path)
    program.run(main, parser)
