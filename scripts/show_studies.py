"""Write the claims of several studies side by side, as a page.

Settings: study, its name; columns, what the column of each study is called, that of this one first.
Inputs:   the claims of each study (.csv), in the order of the settings.
Outputs:  the page (.html), self-contained.
"""

import argparse
from pathlib import Path

from bottomup.plan import program
from bottomup.core.files.tables import read_table
from bottomup.pages.studies import Studies, page


def main(arguments: argparse.Namespace) -> None:
    tables = [read_table(path, dtype={"seeds": str}) for path in arguments.claims]
    claims = dict(zip(arguments.settings.columns, tables, strict=True))
    arguments.page.write_text(page(arguments.settings.study, claims), encoding="utf-8")


if __name__ == "__main__":
    parser = program.parser(__doc__, "page")
    parser.add_argument("--claims", required=True, nargs="+", type=Path)
    program.run(main, parser, Studies)
