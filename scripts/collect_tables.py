"""Join the parts of a table, one from each job, in the given order.

Settings: none.
Inputs: the parts, with the same columns (.csv, or .parquet).
Outputs: the table, of the same kind.
"""

from pathlib import Path

from bottomup.plan import program
from bottomup.core.errors import UserError
from bottomup.core.files.tables import below, read_table


def main(arguments):
    if arguments.table.suffix == ".parquet":
        joined(arguments.tables).to_parquet(arguments.table, index=False)
        return
    # As text: numbers stay as they are, digit by digit, and a token called "null" stays a token.
    table = joined(arguments.tables, dtype=str)
    table.to_csv(arguments.table, index=False)


def joined(paths, **options):
    """The parts one below the other; UserError if those with rows differ in their columns."""
    parts = [(path, read_table(path, **options)) for path in paths]
    parts = [(path, part) for path, part in parts if len(part)] or parts[:1]
    first, expected = parts[0][0], list(parts[0][1].columns)
    for path, part in parts:
        if list(part.columns) != expected:
            raise UserError(
                f"{path} has the columns {', '.join(part.columns)}; allowed: those of {first}, "
                f"{', '.join(expected)}; delete the wrong one and run again"
            )
    return below([part for _, part in parts])


if __name__ == "__main__":
    parser = program.parser(__doc__, "table")
    parser.add_argument("--tables", required=True, nargs="+", type=Path)
    program.run(main, parser)
