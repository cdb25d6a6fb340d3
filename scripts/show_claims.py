"""Write the claims, with verdicts and evidence, as the first page of the report.

Inputs:   the claims, a row each (.csv).
Outputs:  the page (.html), self-contained.
"""

import argparse
from pathlib import Path

from bottomup import program
from bottomup.figures.claims_table import page
from bottomup.files.tables import read_table


def main(arguments: argparse.Namespace) -> None:
    claims = read_table(arguments.claims, dtype={"seeds": str})
    arguments.page.write_text(page(claims), encoding="utf-8")


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("claims", "page"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    program.run(main, parser)
